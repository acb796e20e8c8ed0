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
        /// When they were fetched, on the monotonic clock; for those of an earlier run, as long ago as the date says.
        let instant: ContinuousClock.Instant
        /// When they expire; `nil` if they don't.
        let expiry: Expiry?
        let isRestored: Bool

        init(
            _ ruleset: any Ruleset,
            validator: String?,
            date: Date,
            instant: ContinuousClock.Instant,
            expiry: Expiry?,
            isRestored: Bool
        ) {
            self.ruleset = ruleset
            catalogue = ruleset.catalogue
            self.validator = validator
            self.date = date
            self.instant = instant
            self.expiry = expiry
            self.isRestored = isRestored
        }
    }

    /// The outcome of a fetch.
    enum Outcome: Sendable {
        /// Rules, and what is to be written for the next run once they are in force.
        case current(Kept, Unwritten)
        case disabled
    }

    /// What a fetch leaves to write: the rules, or only that they still hold, since they may be large.
    struct Unwritten: Sendable {
        fileprivate var key: KeptState.Key
        fileprivate var content: StoredRuleset?
    }

    private let source: any RulesetSource
    private let provider: String
    private let state: KeptState
    private let environment: ClientEnvironment
    private var kept: Kept?
    private var isRestored = false

    init(source: any RulesetSource, of provider: String, state: KeptState, environment: ClientEnvironment) {
        self.source = source
        self.provider = provider
        self.state = state
        self.environment = environment
    }

    /// Restores the rules of an earlier run, once; if they can't be read now, the next call tries again.
    ///
    /// - Parameter patience: How long to try while they can't be read; only once if `nil`.
    /// - Returns: The rules, if there are any.
    func restore(_ patience: ReadingPatience? = nil) async -> Kept? {
        guard !isRestored, kept == nil else { return kept }
        let bytes: [UInt8]?
        do throws(ExperimentationError) { bytes = try await state.findBytes(.ruleset, patience) } catch { return kept }
        isRestored = true
        guard let bytes, let stored = StoredRuleset(written: bytes) else { return kept }
        let date = await lastAnswer(on: stored, patience)
        if kept != nil { return kept }
        do throws(ExperimentationError) {
            let ruleset = try source.ruleset(restoring: stored.raw)
            kept = aged(ruleset, validator: stored.validator, restoredFrom: date)
        } catch {
            environment.log.log(.warning, "ruleset.unreadable", "Stored rules can't be used: \(error)")
        }
        return kept
    }

    /// When the vendor sent stored rules, or last confirmed that they still hold.
    private func lastAnswer(on stored: StoredRuleset, _ patience: ReadingPatience?) async -> Date {
        guard let bytes = try? await state.findBytes(.confirmation, patience),
            let confirmed = StoredRuleset(written: bytes), confirmed.validator == stored.validator
        else { return stored.date }
        return max(stored.date, confirmed.date)
    }

    /// Whether rules may be used without asking the vendor.
    nonisolated func isGood(_ kept: Kept) -> Bool {
        guard source.freshness.lifetime != nil else { return source.freshness.polling != nil && !kept.isRestored }
        // Rules of an earlier run that come from the future mean that the clock was set back, so their age is unknown.
        if kept.isRestored, kept.date > environment.time.now { return false }
        return kept.expiry.map { !$0.hasPassed } ?? false
    }

    /// Returns rules with their age: those of an earlier run if there is a date, else those that have just come.
    private func aged(_ ruleset: any Ruleset, validator: String?, restoredFrom date: Date? = nil) -> Kept {
        let time = environment.time
        let now = time.now
        let age = date.map { max(0, now.timeIntervalSince($0)) } ?? 0
        let instant = time.instant.advanced(by: .seconds(-age))
        return Kept(
            ruleset,
            validator: validator,
            date: date ?? now,
            instant: instant,
            expiry: Expiry(of: source.freshness, madeAt: instant, by: time),
            isRestored: date != nil
        )
    }

    /// Asks the vendor for rules; one call at a time.
    ///
    /// - Returns: The rules, or that the vendor's kill switch is on.
    /// - Throws: Why there are no new rules.
    func fetch() async throws(ExperimentationError) -> Outcome {
        let validator = kept?.validator
        let answer = try await environment.observed(.refresh(provider: provider)) {
            [source] _ throws(ExperimentationError) in
            try await source.ruleset(ifNot: validator)
        }
        switch answer {
        case .unchanged:
            guard let old = kept else {
                throw ExperimentationError(
                    .vendorFault,
                    "The vendor reports rules as unchanged that it never sent."
                )
            }
            let confirmed = aged(old.ruleset, validator: old.validator)
            kept = confirmed
            let word = old.validator.map { StoredRuleset(validator: $0, date: confirmed.date, raw: []) }
            return .current(confirmed, Unwritten(key: .confirmation, content: word))
        case .replaced(let ruleset, let validator, let raw):
            let new = aged(ruleset, validator: validator)
            kept = new
            let stored = StoredRuleset(validator: validator, date: new.date, raw: raw)
            return .current(new, Unwritten(key: .ruleset, content: stored))
        case .disabled:
            return .disabled
        }
    }

    /// Writes what a fetch has left to write.
    func write(_ unwritten: Unwritten) async {
        if let content = unwritten.content { await state.write(bytes: content.written, unwritten.key) }
    }
}
