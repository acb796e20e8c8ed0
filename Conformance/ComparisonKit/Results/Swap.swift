import ConformanceKit
import Experimentation

/// What would change for an application that leaves one vendor for another, as far as one story shows it.
public struct Swap: Sendable, Hashable, Codable {
    /// The vendor before.
    public var from: String
    /// The vendor after.
    public var to: String
    /// The steps that go differently.
    public var steps: [Row]
    /// The questions that have another answer.
    public var answers: [Answer]
    /// What the new vendor can't do that the old one does.
    public var missing: [Call]
    /// The calls of the application that come to nothing with the new vendor, by the reason.
    public var lostCalls: [LostCalls]
    /// What the new vendor can do that the old one doesn't.
    public var gained: [Capability]
    /// The new vendor's known deviations from the neutral contract that the old one doesn't have.
    public var deviations: [KnownDeviation]
    /// All of it on one screen.
    public var summary: SwapSummary
    /// What waits on the day of the switch.
    public var waiting: [Waiting]
    /// The traffic of the whole story before.
    public var trafficBefore: Traffic
    /// The traffic of the whole story after.
    public var trafficAfter: Traffic

    /// A step that goes differently.
    public struct Row: Sendable, Hashable, Codable {
        /// The step's number.
        public var step: Int
        /// What happens, for a person.
        public var title: String
        /// What kind of difference it is.
        public var kind: Kind
        /// How it went with the vendor before.
        public var before: String
        /// How it went with the vendor after.
        public var after: String

        /// What kind of difference a step shows.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// It goes wrong, and did not.
            case breaks
            /// The user sees something else.
            case value
            /// The user sees the same, for another reason or with a caveat.
            case told
            /// The vendor after has nothing like it.
            case missing
            /// The vendor before has nothing like it.
            case gained
        }
    }

    /// A question that has another answer.
    public struct Answer: Sendable, Hashable, Codable {
        /// The question.
        public var question: Question
        /// The answer with the vendor before.
        public var before: String
        /// The answer with the vendor after.
        public var after: String
    }

    /// Something that has no counterpart.
    public struct Call: Sendable, Hashable, Codable {
        /// What can't be done.
        public var capability: Capability
        /// Why, for a person.
        public var reason: String
    }
}

extension Comparison {
    /// Works out what would change between two of the vendors; `nil` if one of them isn't here.
    ///
    /// - Parameters:
    ///   - from: The vendor before.
    ///   - to: The vendor after.
    ///   - running: The experiments that run on the day of the switch.
    /// - Returns: The differences.
    public func swap(from: String, to: String, running: [RunningExperiment] = []) -> Swap? {
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
    /// What kind of difference two outcomes of one step are; `nil` if they are none.
    static func kind(_ before: StepOutcome?, _ after: StepOutcome?) -> Row.Kind? {
        switch (before?.kind, after?.kind) {
        case (.unsupported, .unsupported): return nil
        case (_, .unsupported): return .missing
        case (.unsupported, _): return .gained
        case (.done, nil), (.done, .failed), (.done, .broken): return .breaks
        default: break
        }
        if before?.seen != after?.seen { return .value }
        // A caveat tells the same value otherwise: whoever compares is to know of it.
        let isToldAlike = before?.evaluation?.reason == after?.evaluation?.reason && before?.note == after?.note
        return isToldAlike ? nil : .told
    }
}
