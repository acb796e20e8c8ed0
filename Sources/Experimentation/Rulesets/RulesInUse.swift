import Foundation
import Synchronization

/// The rules used for evaluation, for a vendor that publishes them: fetched when due, announced when they change.
final class RulesInUse: Sendable {
    private let keeper: RulesetKeeper
    private let afterExpiry: Freshness.AfterExpiry
    private let status: StatusBoard
    private let killSwitch: KillSwitch
    private let failed: @Sendable (_ error: ExperimentationError, _ hasDecisions: Bool) -> Void
    private let flight = SingleFlight<Int, Int>()
    /// The number of the vendor's answers that have taken effect, or are about to.
    private let answers = Atomic<Int>(0)
    /// The rules in force; changed only by a fetch, of which there is one at a time, and by what makes them valid
    /// again.
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

    /// The current rules, if nothing has to be fetched before they may be used.
    var atOnce: RulesetKeeper.Kept? {
        let kept = published.read { $0.isStale ? nil : $0.kept }
        return kept.flatMap { keeper.isGood($0) ? $0 : nil }
    }

    /// Restores the rules of an earlier run.
    ///
    /// - Parameter patience: How long to try while they can't be read; after that, each fetch tries once.
    func restore(_ patience: ReadingPatience? = nil) async {
        guard let restored = await keeper.restore(patience) else { return }
        let rules = PublishedRules(restored, afterExpiry: afterExpiry)
        published.update { _ in rules }
    }

    /// Fetches rules if necessary.
    ///
    /// - Returns: The rules in force, which may be newer than the fetch that was waited for; `nil` while the vendor's
    ///   kill switch is on.
    /// - Throws: Why there are no new rules.
    func current(force: Bool) async throws(ExperimentationError) -> PublishedRules? {
        if !force, let kept = published.current.kept, keeper.isGood(kept) {
            // Rules from before the vendor turned its switch on don't say that it is off again.
            if killSwitch.isOn { return nil }
            // They are valid, whatever has failed since they came.
            published.update { $0.kept === kept && $0.isStale ? PublishedRules($0, isStale: false) : nil }
            killSwitch.announce(.ready, .ready)
        } else {
            let before = answers.load(ordering: .acquiring)
            // A fetch whose answer is in force already, but that hasn't ended yet, is not a new one.
            var answer: Int
            repeat {
                answer = try await flight(0) { () async throws(ExperimentationError) in try await self.renew() }
            } while answer <= before
        }
        return killSwitch.isOn ? nil : published.current
    }

    /// Fetches rules, and acts on the vendor's answer: once for all callers that wait for it, and in the order of the
    /// answers.
    ///
    /// - Returns: The answer's number.
    private func renew() async throws(ExperimentationError) -> Int {
        if published.current.kept == nil { await restore() }
        let outcome: RulesetKeeper.Outcome
        let throwings = killSwitch.throwings
        do throws(ExperimentationError) {
            outcome = try await keeper.fetch()
        } catch  where error.code.isOwn {
            // The vendor hasn't answered.
            throw error
        } catch {
            let hasRules = published.current.kept != nil
            if hasRules { published.update { PublishedRules($0, isStale: true) } }
            failed(error, hasRules)
            throw error
        }
        // Count the answer first: a caller that finds it in effect, and asks for a newer one, must not get this one.
        let number = answers.wrappingAdd(1, ordering: .releasing).newValue
        switch outcome {
        case .disabled: await killSwitch.set(true)
        case .current(let kept, let unwritten):
            await publish(kept, asOf: throwings)
            await keeper.write(unwritten)
        }
        return number
    }

    private func publish(_ kept: RulesetKeeper.Kept, asOf throwings: Int) async {
        let (before, rules) = (published.current.kept, PublishedRules(kept, afterExpiry: afterExpiry))
        // Publish first: a reader that learns that the switch is off must find the rules.
        published.update { _ in rules }
        await killSwitch.set(false, asOf: throwings)
        guard !killSwitch.isOn else { return }
        killSwitch.announce(.ready, .ready)
        if let before, before.catalogue !== kept.catalogue { status.mention(.configurationChanged) }
    }
}

/// Rules as they are read; none before there are any.
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

    init(_ kept: RulesetKeeper.Kept? = nil, afterExpiry: Freshness.AfterExpiry = .stale) {
        self.kept = kept
        self.afterExpiry = afterExpiry
        isStale = false
        expiry = kept?.expiry
        reader = kept?.ruleset.reader
        catalogue = kept?.catalogue ?? .empty
        isRestored = kept?.isRestored ?? false
    }

    /// Creates the same rules, but with this value of ``isStale``.
    init(_ rules: PublishedRules, isStale: Bool) {
        self.isStale = isStale
        (kept, reader, catalogue) = (rules.kept, rules.reader, rules.catalogue)
        (isRestored, expiry, afterExpiry) = (rules.isRestored, rules.expiry, rules.afterExpiry)
    }

    /// The origin that a session gives decisions by these rules.
    var origin: Snapshot.Origin { isRestored ? .restored : isStale ? .stale : .fresh }

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
