import Foundation

/// Everything that decisions for one user depend on, at one moment.
///
/// The client makes it: the application's attributes under the user's, the assignments to honour, the overrides of
/// this device. Adapters read it and never keep it.
public struct EvaluationContext: Sendable, Hashable {
    /// The user, with attributes merged from the client, the session and the call.
    public var user: User

    /// Variation ids by variation group, as earlier decisions gave them.
    ///
    /// A ruleset honours them for as long as its vendor promises stickiness.
    public var earlierAssignments: [String: String]

    /// What this device forces, in the order in which it was asked for.
    public var overrides: [AssignmentOverride]

    /// When each attribute was last set, for vendors whose attributes age.
    public var attributeDates: [String: Date]

    /// The moment to decide for.
    public var date: Date

    /// Counts up with each change that may change a decision; equal numbers of one session mean equal contexts.
    public var revision: UInt64

    /// Creates a context.
    public init(
        user: User,
        earlierAssignments: [String: String] = [:],
        overrides: [AssignmentOverride] = [],
        attributeDates: [String: Date] = [:],
        date: Date,
        revision: UInt64 = 0
    ) {
        self.user = user
        self.earlierAssignments = earlierAssignments
        self.overrides = overrides
        self.attributeDates = attributeDates
        self.date = date
        self.revision = revision
    }

    /// The value of one attribute.
    public subscript(name: String) -> FlagValue? { user.attributes[name] }
}
