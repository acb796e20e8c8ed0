import Foundation

/// Keeps the rules of a vendor that publishes them: fetches, stores and restores them, and never loses the last good
/// ones.
actor RulesetKeeper {
    /// Rules with their age.
    final class Kept: Sendable {
        let ruleset: any Ruleset
        let catalogue: FlagCatalogue
        let validator: String?
        let date: Date
        let instant: ContinuousClock.Instant?
        let isRestored: Bool

        init(
            _ ruleset: any Ruleset,
            validator: String?,
            date: Date,
            instant: ContinuousClock.Instant?,
            isRestored: Bool
        ) {
            self.ruleset = ruleset
            catalogue = ruleset.catalogue
            self.validator = validator
            self.date = date
            self.instant = instant
            self.isRestored = isRestored
        }

        /// When the rules were fetched, on the monotonic clock; for those of an earlier run, as long ago as the date says.
        func moment(by time: any TimeSource) -> ContinuousClock.Instant {
            instant ?? time.instant.advanced(by: .seconds(-max(0, time.now.timeIntervalSince(date))))
        }

        /// Whether these rules came before others; unknown, and so untrue, for those of an earlier run.
        func isOlder(than other: Kept?) -> Bool {
            guard let instant, let other = other?.instant else { return false }
            return instant < other
        }
    }

    /// The outcome of a refresh.
    enum Outcome: Sendable {
        case current(Kept)
        case disabled
    }

    private let source: any RulesetSource
    private let provider: String
    private let state: KeptState
    private let environment: ClientEnvironment
    private let flight = SingleFlight<Int, Outcome>()
    private var kept: Kept?
    private var isRestored = false

    init(source: any RulesetSource, of provider: String, state: KeptState, environment: ClientEnvironment) {
        self.source = source
        self.provider = provider
        self.state = state
        self.environment = environment
    }

    /// Restores the rules of an earlier run, once.
    func restore() async -> Kept? {
        guard !isRestored else { return kept }
        isRestored = true
        guard let bytes = await state.bytes(.ruleset), let stored = StoredRuleset(written: bytes), kept == nil else {
            return kept
        }
        do throws(ExperimentationError) {
            kept = Kept(
                try source.ruleset(restoring: stored.raw),
                validator: stored.validator,
                date: stored.date,
                instant: nil,
                isRestored: true
            )
        } catch {
            environment.log.log(.warning, "ruleset.unreadable", "Stored rules can't be used: \(error)")
        }
        return kept
    }

    /// Returns valid rules, fetching them if necessary.
    ///
    /// - Parameter force: Whether to ask the vendor even if the rules haven't expired.
    /// - Returns: The rules, or that the vendor's kill switch is on.
    /// - Throws: Why there are no new rules.
    func current(force: Bool) async throws(ExperimentationError) -> Outcome {
        if !force, let kept, isGood(kept) { return .current(kept) }
        return try await flight(0) { () async throws(ExperimentationError) -> Outcome in try await self.fetch() }
    }

    /// The current rules, expired or not.
    var atHand: Kept? { kept }

    /// Whether rules may be used without asking the vendor.
    nonisolated func isGood(_ kept: Kept) -> Bool {
        if let lifetime = source.freshness.lifetime {
            let age = environment.time.now.timeIntervalSince(kept.date)
            // Rules from the future mean that the clock was set back, so their age is unknown.
            return age >= 0 && age <= lifetime.seconds
        }
        return source.freshness.polling != nil && !kept.isRestored
    }

    /// When rules expire.
    nonisolated func expiry(of kept: Kept) -> Expiry? {
        let time = environment.time
        return Expiry(of: source.freshness, madeAt: kept.moment(by: time), by: time)
    }

    private func fetch() async throws(ExperimentationError) -> Outcome {
        let validator = kept?.validator
        let answer = try await environment.observed(.refresh(provider: provider)) {
            [source] _ throws(ExperimentationError) in
            try await source.ruleset(ifNot: validator)
        }
        let now = environment.time.now
        let instant = environment.time.instant
        switch answer {
        case .unchanged:
            guard let old = kept else {
                throw ExperimentationError(
                    .vendorFault,
                    "The vendor reports rules as unchanged that it never sent."
                )
            }
            let confirmed = Kept(old.ruleset, validator: old.validator, date: now, instant: instant, isRestored: false)
            kept = confirmed
            return .current(confirmed)
        case .replaced(let ruleset, let validator, let raw):
            let new = Kept(ruleset, validator: validator, date: now, instant: instant, isRestored: false)
            kept = new
            await state.write(bytes: StoredRuleset(validator: validator, date: now, raw: raw).written, .ruleset)
            return .current(new)
        case .disabled:
            return .disabled
        }
    }
}
