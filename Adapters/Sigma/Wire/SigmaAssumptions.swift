/// Assumptions about what isn't documented: each open question is a switch, set to the likeliest answer.
///
/// ```swift
/// configuration.assumptions.textIgnoresCase = true
/// ```
public struct SigmaAssumptions: Sendable, Hashable {
    /// Whether users on a forced list take part even if a holdout contains them.
    public var forcedUsersEscapeHoldouts = true

    /// Whether a negated operator (`not equal`, `none of`…) holds for a property that the user doesn't have.
    public var missingPropertyPassesNegations = false

    /// Whether text operators ignore case.
    public var textIgnoresCase = false

    /// Whether an experiment in a layer also has its own allocation.
    public var allocationAppliesInLayers = true

    /// How long a property is valid after it was set; `nil` for ever.
    public var propertyLifetime: Duration? = .seconds(24 * 3600)

    /// Creates the likeliest assumptions.
    public init() {}
}
