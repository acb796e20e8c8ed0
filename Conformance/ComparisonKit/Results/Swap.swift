import ConformanceKit
import Experimentation

/// What would change for an application that replaces one vendor with another, as far as a scenario shows.
public struct Swap: Sendable, Hashable, Codable {
    /// The old vendor.
    public var from: String
    /// The new vendor.
    public var to: String
    /// The steps with different outcomes.
    public var steps: [Row]
    /// The questions with different answers.
    public var answers: [Answer]
    /// The capabilities of the old vendor that the new one lacks.
    public var missing: [Call]
    /// The application's calls that have no effect with the new vendor, by reason.
    public var lostCalls: [LostCalls]
    /// The capabilities of the new vendor that the old one lacks.
    public var gained: [Capability]
    /// The known deviations of the new vendor that the old one doesn't have.
    public var deviations: [KnownDeviation]
    /// The summary for one screen.
    public var summary: SwapSummary
    /// What is pending on the day of the switch.
    public var waiting: [Waiting]
    /// The total traffic with the old vendor.
    public var trafficBefore: Traffic
    /// The total traffic with the new vendor.
    public var trafficAfter: Traffic

    /// A step with different outcomes.
    public struct Row: Sendable, Hashable, Codable {
        /// The step's number.
        public var step: Int
        /// The step's title.
        public var title: String
        /// The kind of difference.
        public var kind: Kind
        /// The outcome with the old vendor.
        public var before: String
        /// The outcome with the new vendor.
        public var after: String

        /// The kind of difference between two outcomes.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// It fails, and didn't before.
            case breaks
            /// The user sees something different.
            case value
            /// The user sees the same, with another reason or a caveat.
            case anotherReason = "told"
            /// The new vendor doesn't support it.
            case missing
            /// The old vendor doesn't support it.
            case gained
        }
    }

    /// A question with different answers.
    public struct Answer: Sendable, Hashable, Codable {
        /// The question.
        public var question: Question
        /// The answer with the old vendor.
        public var before: String
        /// The answer with the new vendor.
        public var after: String
    }

    /// A capability without a counterpart.
    public struct Call: Sendable, Hashable, Codable {
        /// The capability.
        public var capability: Capability
        /// The reason.
        public var reason: String
    }
}

extension Comparison {
    /// Determines what would change between two of the vendors; `nil` if one of them wasn't compared.
    ///
    /// - Parameters:
    ///   - from: The old vendor.
    ///   - to: The new vendor.
    ///   - running: The experiments that are running on the day of the switch, or why they can't be told.
    /// - Returns: The differences.
    public func swap(
        from: String,
        to: String,
        running: Result<[RunningExperiment], any Error> = .success([])
    ) -> Swap? {
        guard let before = story(of: from), let after = story(of: to) else { return nil }
        let rows = steps.compactMap { step -> Swap.Row? in
            let one = before.outcome(of: step.number)
            let other = after.outcome(of: step.number)
            guard let kind = Swap.kind(one, other) else { return nil }
            return Swap.Row(
                step: step.number,
                title: step.title,
                kind: kind,
                before: one?.sentence ?? "not reached",
                after: other?.sentence ?? "not reached"
            )
        }
        let answers = questions.compactMap { question -> Swap.Answer? in
            let one = answer(to: question, by: before) ?? "not reached"
            let other = answer(to: question, by: after) ?? "not reached"
            return one == other ? nil : Swap.Answer(question: question, before: one, after: other)
        }
        let missing = Capability.all
            .filter { before.capabilities.contains($0) && !after.capabilities.contains($0) }
            .map { Swap.Call(capability: $0, reason: after.reasons[$0.rawValue] ?? "\(to) has nothing like it") }
        let known = Set(before.deviations.map(\.caseName))
        var swap = Swap(
            from: from,
            to: to,
            steps: rows,
            answers: answers,
            missing: missing,
            lostCalls: Swap.lostCalls(from: before, to: after, missing: missing),
            gained: Capability.all.filter { after.capabilities.contains($0) && !before.capabilities.contains($0) },
            deviations: after.deviations.filter { !known.contains($0.caseName) },
            summary: SwapSummary(),
            waiting: Swap.waiting(from: before, to: after),
            trafficBefore: before.traffic,
            trafficAfter: after.traffic
        )
        swap.summary = SwapSummary(swap, from: before, to: after, running)
        return swap
    }
}

extension Swap {
    /// The kind of difference between two outcomes of a step; `nil` if they are equal.
    static func kind(_ before: StepOutcome?, _ after: StepOutcome?) -> Row.Kind? {
        switch (before?.kind, after?.kind) {
        case (.unsupported, .unsupported): return nil
        case (_, .unsupported): return .missing
        case (.unsupported, _): return .gained
        case (.done, nil), (.done, .failed), (.done, .broken): return .breaks
        default: break
        }
        if before?.seen != after?.seen { return .value }
        // A caveat on an equal value is a difference worth reporting.
        let isAlike = before?.evaluation?.reason == after?.evaluation?.reason && before?.note == after?.note
        return isAlike ? nil : .anotherReason
    }
}
