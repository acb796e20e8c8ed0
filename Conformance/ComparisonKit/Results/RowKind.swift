import Experimentation

/// How the outcomes of a step compare among the vendors that support it.
public enum RowKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user sees the same.
    case same
    /// The user sees the same, but the application gets a different reason.
    case told
    /// The user sees something different, or one vendor failed.
    case different
    /// The vendors that support it agree, and others don't support it.
    case unsupported
}

extension Comparison {
    /// Compares the outcomes of a step.
    ///
    /// Flag vendors and event vendors are compared among themselves: what one vendor doesn't support is no difference
    /// among the others. The number of waiting events depends on batching and is ignored.
    public func kind(of step: Int) -> RowKind {
        let outcomes = vendors.map { $0.outcome(of: step) }
        let own = outcomes.filter { $0?.kind != .unsupported }
        if Set(own.map { $0?.seen }).count > 1 { return .different }
        if Set(own.map { $0?.evaluation?.reason }).count > 1 { return .told }
        return own.count == outcomes.count ? .same : .unsupported
    }

    /// Whether the user sees something different with some of the vendors that support the step.
    public func differs(at step: Int) -> Bool { kind(of: step) == .different }
}

extension StepOutcome {
    /// What the user sees and what the application must act on; without wire, timing and waiting events.
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
