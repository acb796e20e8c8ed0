import Experimentation

/// The rules of a vendor composed with others that are asked for each user: fetches them when they are due, stores them
/// for the next run, and keeps the last good ones.
actor PartRules {
    /// Rules in use.
    struct Known: Sendable {
        var ruleset: any Ruleset
        /// Why the last fetch failed, if it did.
        var failure: ExperimentationError?
    }

    nonisolated let source: any RulesetSource
    private let context: ProviderContext
    private let turn = AsyncSemaphore(limit: 1)
    private var ruleset: (any Ruleset)?
    private var validator: String?
    private var fetched: ContinuousClock.Instant?
    private var isRestored = false
    private static let key = "composed/ruleset"

    /// Creates an empty holder of rules.
    ///
    /// - Parameters:
    ///   - source: The source of the rules.
    ///   - context: The vendor's own context.
    init(_ source: any RulesetSource, in context: ProviderContext) {
        self.source = source
        self.context = context
    }

    /// Returns the rules, fetching them if they are due.
    ///
    /// - Returns: The rules; `nil` if the vendor is disabled.
    /// - Throws: Why there are none, if there never were any.
    func current() async throws(ExperimentationError) -> Known? {
        let asked = context.environment.time.instant
        do { try await turn.enter() } catch { throw ExperimentationError(.cancelled, "The task was cancelled.") }
        defer { turn.leave() }
        await restore()
        // Another request may have finished while this one waited.
        if let ruleset, let fetched, isGood(fetched) || fetched > asked {
            return Known(ruleset: ruleset)
        }
        do throws(ExperimentationError) {
            switch try await source.ruleset(ifNot: ruleset == nil ? nil : validator) {
            case .disabled: return nil
            case .unchanged: fetched = context.environment.time.instant
            case .replaced(let new, let name, let raw):
                (ruleset, validator, fetched) = (new, name, context.environment.time.instant)
                var archive = RulesArchive()
                archive.entries[""] = .init(validator: name, raw: raw)
                try? await context.state.setValue(archive.written, for: Self.key)
            }
        } catch {
            guard let ruleset else { throw error }
            return Known(ruleset: ruleset, failure: error)
        }
        return ruleset.map { Known(ruleset: $0) }
    }

    private func isGood(_ fetched: ContinuousClock.Instant) -> Bool {
        guard let span = source.freshness.lifetime ?? source.freshness.polling else { return false }
        return fetched.duration(to: context.environment.time.instant) < span
    }

    private func restore() async {
        guard !isRestored else { return }
        isRestored = true
        guard let bytes = (try? await context.state.value(for: Self.key)) ?? nil,
            let entry = RulesArchive(written: bytes)?.entries[""]
        else { return }
        ruleset = try? source.ruleset(restoring: entry.raw)
        validator = entry.validator
    }
}
