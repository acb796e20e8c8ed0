import Experimentation

/// How what happened at one step compares, over those vendors that have such a thing at all.
public enum RowKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user sees the same.
    case same
    /// The user sees the same, and the application is given another reason for it.
    case told
    /// The user sees something else, or something went wrong for one of them.
    case different
    /// At most one of the vendors has such a thing, so there is nothing to compare; reports fold it.
    case unsupported
}

extension Comparison {
    /// How a step compares.
    ///
    /// Flag vendors and event vendors are compared among themselves: what a vendor has nothing like is
    /// no difference of those that have it. What waits in the outbox is a matter of the vendors' batches, and marks nothing.
    public func kind(of step: Int) -> RowKind {
        let outcomes = vendors.map { $0.outcome(of: step) }
        let own = outcomes.filter { $0?.kind != .unsupported }
        if own.isEmpty || (own.count < 2 && outcomes.count > 1) { return .unsupported }
        if Set(own.map { $0?.seen }).count > 1 { return .different }
        return Set(own.map { $0?.evaluation?.reason }).count > 1 ? .told : .same
    }

    /// The steps that reports show in full.
    public var shownSteps: [StepName] { steps.filter { kind(of: $0.number) != .unsupported } }

    /// The steps that reports fold.
    public var foldedSteps: [StepName] { steps.filter { kind(of: $0.number) == .unsupported } }

    /// What the folded steps are, with their number; `nil` if there are none.
    var foldTitle: String? {
        let count = foldedSteps.count
        guard count > 0 else { return nil }
        let steps = count == 1 ? "1 step" : "\(count) steps"
        if vendors.count == 1, let only = vendors.first { return "\(steps) that \(only.name) has nothing like" }
        return "\(steps) that at most one of the vendors has"
    }

    /// Who has such a thing at a step; `nil` for nobody.
    func owner(of step: Int) -> String? {
        vendors.first { ($0.outcome(of: step)?.kind ?? .broken) != .unsupported }?.name
    }

    /// Whether the user sees something else with some of the vendors that have such a thing.
    public func differs(at step: Int) -> Bool { kind(of: step) == .different }
}

extension StepOutcome {
    /// What the user sees of it, and what the application must act on; the wire, the time and what waits are left out.
    var seen: Seen {
        Seen(
            kind: kind,
            error: error,
            value: evaluation?.value,
            flagError: evaluation?.error,
            variation: assignment?.variation,
            isAnyDropped: events.dropped > 0
        )
    }

    struct Seen: Hashable {
        var kind: Kind
        var error: String?
        var value: FlagValue?
        var flagError: String?
        var variation: String?
        var isAnyDropped: Bool
    }
}
