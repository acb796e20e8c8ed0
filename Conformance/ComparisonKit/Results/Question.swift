/// A question to answer before a change of vendors.
public enum Question: String, Sendable, Hashable, Codable, CaseIterable {
    /// How the application works while the vendor is unreachable.
    case offline
    /// What log-in preserves.
    case linking
    /// How soon a kill switch takes effect.
    case killSwitch
    /// What is left after consent is withdrawn.
    case withdrawal

    /// The wording of the question.
    public var title: String {
        switch self {
        case .offline: "While the vendor is away"
        case .linking: "What signing in keeps"
        case .killSwitch: "The kill switch"
        case .withdrawal: "What withdrawn consent leaves behind"
        }
    }
}

extension Comparison {
    /// The questions that this comparison answers.
    public var questions: [Question] {
        Question.allCases.filter { question in vendors.contains { answer(to: question, by: $0) != nil } }
    }

    /// The answer to a question from the story of a vendor; `nil` if the story doesn't cover it.
    ///
    /// - Parameters:
    ///   - question: The question.
    ///   - vendor: The story.
    /// - Returns: The answer as a phrase.
    public func answer(to question: Question, by vendor: VendorStory) -> String? {
        switch question {
        case .offline: vendor.findings.offline?.sentence
        case .linking: vendor.findings.linking?.sentence
        case .killSwitch: killSwitch(of: vendor)
        case .withdrawal: vendor.findings.withdrawal?.sentence
        }
    }

    private func killSwitch(of vendor: VendorStory) -> String? {
        let turned = steps.first { $0.action == Scenario.Action.killSwitch(isOn: true).key }
        guard let turned, let outcome = vendor.outcome(of: turned.number) else { return nil }
        guard outcome.kind == .done else { return outcome.note ?? "there is none" }
        return vendor.killSwitchSeconds.map { "noticed after \($0) s" } ?? "never noticed"
    }
}
