import Experimentation

/// How the outcomes of a step compare among the vendors that support it.
public enum RowKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The user sees the same.
    case same
    /// The user sees the same, but the application gets a different reason.
    case anotherReason = "told"
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
        if own.isEmpty || (own.count < 2 && outcomes.count > 1) { return .unsupported }
        if Set(own.map { $0?.seen }).count > 1 { return .different }
        return Set(own.map { $0?.evaluation?.reason }).count > 1 ? .anotherReason : .same
    }

    /// The steps that reports show in full.
    public var shownSteps: [StepName] { steps.filter { kind(of: $0.number) != .unsupported } }

    /// The steps that reports fold.
    public var foldedSteps: [StepName] { steps.filter { kind(of: $0.number) == .unsupported } }

    /// The kind of the folded steps, with their number; `nil` if there are none.
    var foldTitle: String? {
        let count = foldedSteps.count
        guard count > 0 else { return nil }
        let steps = count == 1 ? "1 step" : "\(count) steps"
        if vendors.count == 1, let only = vendors.first { return "\(steps) that \(only.name) has nothing like" }
        return "\(steps) that at most one of the vendors has"
    }

    /// The first vendor that supports a step; `nil` if none does.
    func owner(of step: Int) -> String? {
        vendors.first { ($0.outcome(of: step)?.kind ?? .broken) != .unsupported }?.name
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
