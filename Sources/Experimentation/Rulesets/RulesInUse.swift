import Foundation

/// The rules used for evaluation, for a vendor that publishes them: fetched when due, announced when they change.
final class RulesInUse: Sendable {
    private let keeper: RulesetKeeper
    private let afterExpiry: Freshness.AfterExpiry
    private let status: StatusBoard
    private let killSwitch: KillSwitch
    private let failed: @Sendable (_ error: ExperimentationError, _ hasDecisions: Bool) -> Void
    /// The current rules for evaluations without a session.
    let published = Lanes(PublishedRules())

    /// Creates an empty place for rules.
    ///
    /// - Parameters:
    ///   - keeper: Fetches and keeps them.
    ///   - afterExpiry: What happens once they have expired.
    ///   - status: Where changes are announced.
    ///   - killSwitch: The switch to set when the vendor turns it on or off.
    ///   - failed: Called when the vendor gave no valid answer.
    init(
        keeper: RulesetKeeper,
        afterExpiry: Freshness.AfterExpiry,
        status: StatusBoard,
        killSwitch: KillSwitch,
        failed: @escaping @Sendable (_ error: ExperimentationError, _ hasDecisions: Bool) -> Void
    ) {
        self.keeper = keeper
        self.afterExpiry = afterExpiry
        self.status = status
        self.killSwitch = killSwitch
        self.failed = failed
    }

    /// The last good rules, whatever their age.
    var atHand: RulesetKeeper.Kept? { get async { await keeper.atHand } }

    /// The current rules, if nothing has to be fetched before they may be used.
    var atOnce: RulesetKeeper.Kept? {
        let kept = published.read { $0.isStale ? nil : $0.kept }
        return kept.flatMap { keeper.isGood($0) ? $0 : nil }
    }

    /// Restores the rules of an earlier run.
    func restore() async {
        if let restored = await keeper.restore() { publish(restored) }
    }

    /// Fetches rules if necessary, and acts on the vendor's answer.
    ///
    /// - Returns: The rules; `nil` while the vendor's kill switch is on.
    /// - Throws: Why there are no new rules.
    func current(force: Bool) async throws(ExperimentationError) -> RulesetKeeper.Kept? {
        let before = await keeper.atHand
        let outcome: RulesetKeeper.Outcome
        do throws(ExperimentationError) {
            outcome = try await keeper.current(force: force)
        } catch  where error.code.isOwn {
            // The vendor hasn't answered, and others may still wait for it.
            throw error
        } catch {
            published.update { $0.isStale ? nil : $0.kept.map { readable($0, isStale: true) } }
            failed(error, before != nil)
            throw error
        }
        switch outcome {
        case .disabled:
            await killSwitch.set(true)
            return nil
        case .current(let rules):
            // Rules from before the vendor turned its switch on don't say that it is off again.
            if rules === before, killSwitch.isOn { return nil }
            await killSwitch.set(false)
            publish(rules)
            status.announce(.ready, .ready)
            return rules
        }
    }

    /// Makes rules the current ones, unless there are newer: those who wait for a fetch needn't return in order.
    func publish(_ rules: RulesetKeeper.Kept) {
        var before: RulesetKeeper.Kept?
        let isNew = published.update { published in
            before = published.kept
            if published.kept === rules, !published.isStale { return nil }
            if let current = published.kept, rules.instant < current.instant { return nil }
            return readable(rules)
        }
        guard isNew, !killSwitch.isOn, !rules.isRestored else { return }
        status.announce(.ready, .ready)
        if let before, before.catalogue !== rules.catalogue { status.mention(.configurationChanged) }
    }

    private func readable(_ rules: RulesetKeeper.Kept, isStale: Bool = false) -> PublishedRules {
        PublishedRules(rules, isStale: isStale, afterExpiry: afterExpiry)
    }
}

/// Rules as read by evaluations without a session; `nil` before there are any.
final class PublishedRules: Sendable {
    /// What single flags are read from.
    let reader: (any Ruleset)?
    let catalogue: FlagCatalogue
    let isRestored: Bool
    let kept: RulesetKeeper.Kept?
    /// Whether a later answer was invalid.
    let isStale: Bool
    private let expiry: Expiry?
    private let afterExpiry: Freshness.AfterExpiry

    init(_ kept: RulesetKeeper.Kept? = nil, isStale: Bool = false, afterExpiry: Freshness.AfterExpiry = .stale) {
        self.kept = kept
        self.isStale = isStale
        self.afterExpiry = afterExpiry
        expiry = kept?.expiry
        reader = kept?.ruleset.reader
        catalogue = kept?.catalogue ?? .empty
        isRestored = kept?.isRestored ?? false
    }

    /// Whether the rules have expired.
    @inline(__always)
    var isOverdue: Bool { expiry?.hasPassed ?? false }

    /// The age of the rules.
    func age(at time: any TimeSource) -> Duration? { kept?.instant.duration(to: time.instant) }

    /// How to read them now.
    var standing: HeldDecisions.Standing {
        if isOverdue { return afterExpiry == .notReady ? .gone : .stale }
        return isStale ? .stale : .good
    }
}
