import Foundation

/// Everything that decisions for one user depend on, at one moment.
///
/// The client creates it: the application's attributes beneath the user's, the assignments to honor, the overrides of
/// this device. Adapters read it and never keep it.
public struct EvaluationContext: Sendable, Hashable {
    /// The user, with attributes merged from the client, the session and the call.
    public var user: User

    /// Variation ids by variation group, from earlier decisions.
    ///
    /// A ruleset honors them for as long as its vendor promises stickiness.
    public var earlierAssignments: [String: String]

    /// The overrides of this device, in the order in which they were requested.
    public var overrides: [AssignmentOverride]

    /// When each attribute was last set, for vendors whose attributes age.
    public var attributeDates: [String: Date]

    /// The time to decide for.
    public var date: Date

    /// Increases with each change of the session that may affect a decision.
    ///
    /// Attributes from outside of the session, such as the client's own, may change without it. 0 for a user without a
    /// session, as on a server.
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

    /// Whether a session asks, which keeps its decisions and asks again only for newer ones.
    package var isOfSession: Bool { revision > 0 }

    /// The value of one attribute.
    public subscript(name: String) -> FlagValue? { user.attributes[name] }
}
