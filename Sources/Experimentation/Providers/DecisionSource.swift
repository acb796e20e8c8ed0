/// A vendor that decides by itself and is asked for each user.
public protocol DecisionSource: Sendable {
    /// How long an answer is good, and what follows.
    var freshness: Freshness { get }

    /// Asks the vendor what it decides for a user.
    ///
    /// The client calls this once for concurrent refreshes of one user. Retries are the implementer's, inside the
    /// deadline that its settings name.
    ///
    /// - Parameter context: The user and all that the decision depends on.
    /// - Returns: The decisions, or that the vendor is switched off.
    /// - Throws: When there is no good answer. The client keeps the last one.
    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer
}

/// What a vendor answered when it was asked for decisions.
public enum DecisionAnswer: Sendable {
    /// The decisions for this user.
    case decided(Decisions)
    /// The vendor's kill switch is on.
    case disabled
}

/// A vendor that publishes rules, which are evaluated here.
public protocol RulesetSource: Sendable {
    /// How long rules are good, and what follows.
    var freshness: Freshness { get }

    /// Fetches the rules, if they have changed.
    ///
    /// - Parameter validator: What ``RulesetAnswer/replaced(_:validator:raw:)`` gave with the rules that the client has.
    /// - Returns: New rules, that there are none, or that the vendor is switched off.
    /// - Throws: When there is no good answer. The client keeps the rules that it has.
    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer

    /// Reads rules that an earlier run stored.
    ///
    /// - Parameter raw: What ``RulesetAnswer/replaced(_:validator:raw:)`` gave then.
    /// - Returns: The rules, ready to decide.
    /// - Throws: When they can't be read; the client forgets them then.
    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset
}

/// What a vendor answered when it was asked for its rules.
public enum RulesetAnswer: Sendable {
    /// The rules are the ones that the validator belongs to.
    case unchanged
    /// There are new rules.
    ///
    /// - Parameters:
    ///   - ruleset: The rules.
    ///   - validator: What to ask with next time.
    ///   - raw: What to store, to be restored in a later run.
    case replaced(any Ruleset, validator: String?, raw: [UInt8])
    /// The vendor's kill switch is on.
    case disabled
}

/// Rules, ready to decide for any user; immutable, and shared by all of them.
public protocol Ruleset: Sendable {
    /// All flags with every value that they can have.
    var catalogue: FlagCatalogue { get }

    /// Decides everything for a user; pure and synchronous.
    func decisions(for context: EvaluationContext) -> Decisions

    /// Decides one flag for a user; pure, synchronous, and without keeping anything of the user.
    ///
    /// - Parameters:
    ///   - flag: The flag's index in ``catalogue``.
    ///   - context: The user.
    /// - Returns: Which of the flag's values it is, or `nil` if the flag isn't there for this user.
    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int?
}

extension Ruleset {
    /// Decides everything, to answer for one flag.
    ///
    /// Vendors whose flags can be decided apart do it more cheaply.
    public func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        decisions(for: context).outcome(ofFlag: flag)
    }
}

/// How long decisions are good, when they are fetched again, and what follows when they are overdue.
public struct Freshness: Sendable, Hashable {
    /// What a read gives when the decisions are overdue.
    public enum AfterExpiry: Sendable, Hashable {
        /// The last good value, with reason ``Reason/stale``.
        case stale
        /// The default, with ``ErrorCode/providerNotReady``.
        case notReady
    }

    /// How long an answer is good; `nil` for as long as there is no other.
    ///
    /// ``UserSession/refresh(force:)`` asks the vendor only when it is over, and always where this is zero or `nil`.
    public var lifetime: Duration?
    /// How often the client asks on its own; `nil` for never.
    ///
    /// Each wait is drawn between nine and eleven tenths of it.
    public var polling: Duration?
    /// What follows when ``lifetime`` is over.
    public var afterExpiry: AfterExpiry

    /// Creates a policy.
    public init(lifetime: Duration? = nil, polling: Duration? = nil, afterExpiry: AfterExpiry = .stale) {
        self.lifetime = lifetime
        self.polling = polling
        self.afterExpiry = afterExpiry
    }
}
