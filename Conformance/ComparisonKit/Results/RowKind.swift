import Experimentation

/// How what happened at one step compares, over those vendors that have such a thing at all.
public enum RowKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user sees the same.
    case same
    /// The user sees the same, and the application is given another reason for it.
    case told
    /// The user sees something else, or something went wrong for one of them.
    case different
    /// Those that have such a thing agree, and others have nothing like it.
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
        if Set(own.map { $0?.seen }).count > 1 { return .different }
        if Set(own.map { $0?.evaluation?.reason }).count > 1 { return .told }
        return own.count == outcomes.count ? .same : .unsupported
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
