import Foundation

/// A vendor that makes decisions itself and is asked for each user.
public protocol DecisionSource: Sendable {
    /// How long an answer is valid, and what happens then.
    var freshness: Freshness { get }

    /// Asks the vendor for a user's decisions.
    ///
    /// The client calls this once for concurrent refreshes of one user. Retries are up to the implementer, within the
    /// deadline that its settings state.
    ///
    /// - Parameter context: The user and everything else that the decision depends on.
    /// - Returns: The decisions, or that the vendor's kill switch is on.
    /// - Throws: Why there is no valid answer. The client keeps the last one.
    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer
}

/// A vendor's answer to a request for decisions.
public enum DecisionAnswer: Sendable {
    /// The decisions for this user.
    case decided(Decisions)
    /// The vendor's kill switch is on.
    case disabled
}

/// A vendor that publishes rules, which are evaluated here.
public protocol RulesetSource: Sendable {
    /// How long rules are valid, and what happens then.
    var freshness: Freshness { get }

    /// Fetches the rules if they have changed.
    ///
    /// - Parameter validator: The validator that came with the client's current rules in
    ///   ``RulesetAnswer/replaced(_:validator:raw:)``.
    /// - Returns: New rules, that they are unchanged, or that the vendor's kill switch is on.
    /// - Throws: Why there is no valid answer. The client keeps its rules.
    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer

    /// Parses rules that an earlier run stored.
    ///
    /// - Parameter raw: The bytes from ``RulesetAnswer/replaced(_:validator:raw:)``.
    /// - Returns: The rules, ready to decide.
    /// - Throws: Why they can't be read; the client then discards them.
    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset
}

/// A vendor's answer to a request for rules.
public enum RulesetAnswer: Sendable {
    /// The rules that the validator belongs to are current.
    case unchanged
    /// There are new rules.
    ///
    /// - Parameters:
    ///   - ruleset: The rules.
    ///   - validator: What to pass with the next request.
    ///   - raw: What to store, to be restored in a later run.
    case replaced(any Ruleset, validator: String?, raw: [UInt8])
    /// The vendor's kill switch is on.
    case disabled
}

/// Rules, ready to decide for any user; immutable, and shared by all users.
public protocol Ruleset: Sendable {
    /// All flags with their possible values.
    var catalogue: FlagCatalogue { get }

    /// Decides all flags for a user; pure and synchronous.
    func decisions(for context: EvaluationContext) -> Decisions

    /// Decides one flag for a user; pure and synchronous, and keeps nothing about the user.
    ///
    /// - Parameters:
    ///   - flag: The flag's index in ``catalogue``.
    ///   - context: The user.
    /// - Returns: The index of the flag's value, or `nil` if the user doesn't have the flag.
    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int?

    /// The earliest moment after a date at which time alone could change a decision, for contexts without
    /// ``EvaluationContext/attributeDates``.
    ///
    /// Rules whose decisions depend on anything but the context and its date must keep the default implementation.
    ///
    /// - Parameter date: The date.
    /// - Returns: The moment; `Date.distantFuture` if time plays no part; the date itself, as by default, if nothing is
    ///   known.
    func nextChange(after date: Date) -> Date

    /// The rules on which reads call ``outcome(ofFlag:for:)``; these rules themselves by default.
    ///
    /// For rules that only relabel other rules: both have the same flags with the same values at the same indices, so a
    /// read takes no detour.
    var reader: any Ruleset { get }
}

extension Ruleset {
    /// These rules themselves.
    public var reader: any Ruleset { self }

    /// The date itself: nothing is known.
    public func nextChange(after date: Date) -> Date { date }

    /// Decides all flags to answer for one.
    ///
    /// Rulesets that can decide flags independently should implement it more cheaply.
    public func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        decisions(for: context).outcome(ofFlag: flag)
    }
}

/// How long decisions are valid, when they are fetched again, and what happens when they expire.
public struct Freshness: Sendable, Hashable {
    /// What a read returns once the decisions have expired, those of an earlier run included.
    public enum AfterExpiry: Sendable, Hashable {
        /// The last good value, with reason ``Reason/stale``.
        case stale
        /// The default, with ``ErrorCode/providerNotReady``.
        case notReady
    }

    /// How long an answer is valid; if `nil`, until there is another.
    ///
    /// ``UserSession/refresh(force:)`` asks the vendor only once this has passed, and always if it is zero or `nil`.
    public var lifetime: Duration?
    /// How often the client asks on its own; `nil` for never.
    ///
    /// Each wait is drawn between nine and eleven tenths of it.
    public var polling: Duration?
    /// What happens once ``lifetime`` has passed.
    public var afterExpiry: AfterExpiry
    /// How long rules are used before they are fetched again; `nil` to fetch them each time.
    package var span: Duration? { lifetime ?? polling }
    /// How much older than the question an answer may be, as in a composition with rules that were fetched earlier.
    package var answerAge: Duration = .zero

    /// Creates a policy.
    public init(lifetime: Duration? = nil, polling: Duration? = nil, afterExpiry: AfterExpiry = .stale) {
        self.lifetime = lifetime
        self.polling = polling
        self.afterExpiry = afterExpiry
    }
}
