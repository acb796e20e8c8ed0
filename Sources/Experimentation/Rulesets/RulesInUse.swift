import Foundation

/// The rules used for evaluation, for a vendor that publishes them: fetched when due, announced when they change.
final class RulesInUse: Sendable {
    private let keeper: RulesetKeeper
    private let status: StatusBoard
    private let killSwitch: KillSwitch
    private let failed: @Sendable (_ error: ExperimentationError, _ hasDecisions: Bool) -> Void
    /// The current rules for evaluations without a session.
    let published = Lanes(PublishedRules(nil))

    /// Creates an empty place for rules.
    ///
    /// - Parameters:
    ///   - keeper: Fetches and keeps them.
    ///   - status: Where changes are announced.
    ///   - killSwitch: The switch to set when the vendor turns it on or off.
    ///   - failed: Called when the vendor gave no valid answer.
    init(
        keeper: RulesetKeeper,
        status: StatusBoard,
        killSwitch: KillSwitch,
        failed: @escaping @Sendable (_ error: ExperimentationError, _ hasDecisions: Bool) -> Void
    ) {
        self.keeper = keeper
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
            published.update { $0.kept == nil || $0.isStale ? nil : PublishedRules($0.kept, isStale: true) }
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
            return rules.isOlder(than: published.kept) ? nil : PublishedRules(rules)
        }
        guard isNew, !killSwitch.isOn, !rules.isRestored else { return }
        status.announce(.ready, .ready)
        if let before, before.catalogue !== rules.catalogue { status.mention(.configurationChanged) }
    }
}

/// Rules as read by evaluations without a session; `nil` before there are any.
final class PublishedRules: Sendable {
    let ruleset: (any Ruleset)?
    /// What single flags are read from.
    let reader: (any Ruleset)?
    let catalogue: FlagCatalogue
    let isRestored: Bool
    let kept: RulesetKeeper.Kept?
    /// Whether a later answer was invalid.
    let isStale: Bool

    init(_ kept: RulesetKeeper.Kept?, isStale: Bool = false) {
        self.kept = kept
        self.isStale = isStale
        ruleset = kept?.ruleset
        reader = kept?.ruleset.reader
        catalogue = kept?.catalogue ?? .empty
        isRestored = kept?.isRestored ?? false
    }

    /// The age of the rules: by the monotonic clock for those of this run, by the date for those of an earlier one.
    func age(at time: any TimeSource) -> Duration? {
        if let instant = kept?.instant { return instant.duration(to: time.instant) }
        return kept.map { .seconds(max(0, time.now.timeIntervalSince($0.date))) }
    }
}
