import Foundation

/// Decisions on the calling thread, for servers that answer within an event loop.
///
/// They are what ``decisions(for:honoring:)`` would return, for a vendor that publishes rules, as long as nothing has
/// to be fetched or awaited for it.
extension ExperimentationClient {
    /// Decides all flags for a user by the current rules, without waiting.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: Assignments stored elsewhere, to be honored where the vendor promises that.
    /// - Returns: The decisions; `nil` if the vendor would have to be asked, if its last answer was invalid, while the
    ///   kill switch is on, and for an invalid user.
    public func decisionsAtOnce(
        for user: User,
        honoring earlierAssignments: EarlierAssignments = [:]
    ) -> UserDecisions? {
        guard let kept = core.rulesAtOnce, case .computed(let source) = core.roles.decisions else { return nil }
        let context = core.context(for: user, earlierAssignments: earlierAssignments.variations)
        guard (try? context.user.validate()) != nil else { return nil }
        var held = core.hold(kept.ruleset.decisions(for: context), madeAt: kept.instant, by: source.freshness)
        held.validator = kept.validator
        return UserDecisions(core: core, context: context, held: held)
    }

    /// Decides one flag for a user by the current rules, without waiting and without deciding the others.
    ///
    /// - Parameters:
    ///   - key: The flag's key.
    ///   - user: The user.
    ///   - earlierAssignments: Assignments stored elsewhere, to be honored where the vendor promises that.
    /// - Returns: The decision; `nil` where ``decisionsAtOnce(for:honoring:)`` returns it.
    public func decisionAtOnce(
        of key: String,
        for user: User,
        honoring earlierAssignments: EarlierAssignments = [:]
    ) -> FlagDecision? {
        guard let kept = core.rulesAtOnce else { return nil }
        let context = core.context(for: user, earlierAssignments: earlierAssignments.variations)
        guard (try? context.user.validate()) != nil else { return nil }
        let flag = kept.catalogue.index(of: key)
        return FlagDecision(
            user: context.user,
            catalogue: kept.catalogue,
            flag: flag,
            outcome: flag.flatMap { kept.ruleset.outcome(ofFlag: $0, for: context) },
            core: core
        )
    }
}

/// Everything besides the user that decisions depend on at a given time.
///
/// For a server that caches its answers: while ``ExperimentationClient/isCurrent(_:)`` is true, deciding for the same
/// user with the same earlier assignments gives the same result.
public struct DecisionBasis: Sendable {
    fileprivate let rules: RulesetKeeper.Kept
    fileprivate let ambient: ClientCore.Ambient
    fileprivate let span: Range<Date>
}

extension ExperimentationClient {
    /// Everything besides the user that decisions depend on now.
    ///
    /// - Returns: The basis; `nil` if ``decisionsAtOnce(for:honoring:)`` returns `nil`, and if decisions may change at
    ///   any time, because the rules don't state when time changes a decision, or because attributes come from outside
    ///   this client.
    public func basisAtOnce() -> DecisionBasis? {
        guard core.options.sharedAttributes == nil, TransactionAttributes.current.isEmpty,
            let rules = core.rulesAtOnce
        else { return nil }
        let now = core.environment.time.now
        let end = rules.ruleset.nextChange(after: now)
        return now < end ? DecisionBasis(rules: rules, ambient: core.ambient.current, span: now..<end) : nil
    }

    /// Whether this is unchanged, and decisions can be made without waiting.
    public func isCurrent(_ basis: DecisionBasis) -> Bool {
        guard core.rulesAtOnce === basis.rules, basis.span.contains(core.environment.time.now) else { return false }
        return core.ambient.read { $0 === basis.ambient } && TransactionAttributes.current.isEmpty
    }
}

/// What one flag resolves to for a user.
public struct FlagDecision: Sendable {
    /// The user, with all attributes that were known.
    public let user: User
    /// The flags with all their possible values.
    public let catalogue: FlagCatalogue
    /// The flag's index in ``catalogue``; `nil` if there is no such flag.
    public let flag: Int?
    /// The index of the flag's value; `nil` if the user doesn't have the flag.
    public let outcome: Int?
    private let core: ClientCore

    init(user: User, catalogue: FlagCatalogue, flag: Int?, outcome: Int?, core: ClientCore) {
        (self.user, self.catalogue, self.flag, self.outcome, self.core) = (user, catalogue, flag, outcome, core)
    }

    /// The assignment behind the value, if there is one.
    public var assignment: Assignment? {
        guard let flag, let outcome, outcome >= 0, outcome < catalogue.outcomeCount(ofFlag: flag) else { return nil }
        let place = Int(catalogue.outcome(flag, outcome).pointee.place)
        return place < 0 ? nil : catalogue.assignments[place]
    }

    /// Records that the user saw the variation behind the value, whatever the exposure policy; does nothing if there is
    /// none.
    ///
    /// - Parameter isConsentStated: Whether ``User/consent`` is the user's own choice; see
    ///   ``ExperimentationClient/track(_:for:at:id:isConsentStated:)``.
    /// - Throws: ``ErrorCode/unsupported`` if the vendor takes no exposures.
    public func expose(isConsentStated: Bool = true) throws(ExperimentationError) {
        guard let assignment else { return }
        try core.checkExposure(of: assignment)
        core.noteExposure(
            Exposure(assignment: assignment),
            user,
            isRepeatable: false,
            isStated: isConsentStated
        )
    }
}

extension ClientCore {
    /// The rules that can decide now without a fetch; `nil` if there are none.
    fileprivate var rulesAtOnce: RulesetKeeper.Kept? {
        guard let rules, !isDisabled, status.status == .ready else { return nil }
        return rules.atOnce
    }
}
