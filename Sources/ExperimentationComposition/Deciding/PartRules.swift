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

    private struct Held {
        var ruleset: any Ruleset
        var validator: String?
        /// The request that confirmed them last; 0 for rules of an earlier run.
        var request = 0
        /// When the vendor was asked for them; `nil` for rules of an earlier run, or if it has been disabled since.
        var asked: ContinuousClock.Instant?
    }

    /// The outcome of a request that brought no rules.
    private struct Refusal {
        var request: Int
        var instant: ContinuousClock.Instant
        /// Why it failed; `nil` if the vendor is disabled.
        var error: ExperimentationError?
    }

    nonisolated let source: any RulesetSource
    private let context: ProviderContext
    /// Admits one request to the vendor at a time.
    nonisolated let turn = AsyncSemaphore(limit: 1)
    private var requests = FetchNumbers()
    private var held: Held?
    /// The outcome of the last request, unless it brought rules.
    private var refusal: Refusal?
    private var isRestored = false
    private static let key = "composed/ruleset"
    /// After a failure, requests without a session don't ask the vendor again for this long.
    private static let patience = Duration.seconds(2)

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
    /// A caller that asks during a request takes that request's outcome, whatever it is.
    ///
    /// - Parameter inSession: Whether a session asks: after a failure, it wants a new answer. Without sessions, as on a
    ///   server, users come faster than a vendor recovers.
    /// - Returns: The rules; `nil` if the vendor is disabled.
    /// - Throws: Why there are none, if there never were any.
    func current(inSession: Bool) async throws(ExperimentationError) -> Known? {
        if let held, isGood(held) { return Known(ruleset: held.ruleset) }
        if !inSession, let refusal, isStanding(refusal) { return try known(after: refusal) }
        let first = requests.first()
        return try await turn.runShared { [self] () async throws(ExperimentationError) -> Known? in
            try await outcome(from: first)
        }
    }

    /// Returns the outcome of a request, which is made unless another one that suffices has finished meanwhile.
    private func outcome(from first: Int) async throws(ExperimentationError) -> Known? {
        if let held, held.request >= first { return Known(ruleset: held.ruleset) }
        if let refusal, refusal.request >= first { return try known(after: refusal) }
        await restore()
        return try await fetch()
    }

    /// The last good rules, whether or not the vendor is disabled.
    var lastGood: (any Ruleset)? { held?.ruleset }

    /// Marks the rules as outdated, because the vendor announced a change; the next request fetches them.
    func expire() { requests.expire() }

    private func fetch() async throws(ExperimentationError) -> Known? {
        let began = context.environment.time.instant
        let request = requests.begin()
        defer { requests.end() }
        let answer: RulesetAnswer
        do throws(ExperimentationError) {
            answer = try await source.ruleset(ifNot: held?.validator)
            if case .unchanged = answer, held == nil {
                throw ExperimentationError(
                    .vendorFault,
                    "The vendor reports rules as unchanged that it never sent."
                )
            }
        } catch {
            let failed = Refusal(request: request, instant: context.environment.time.instant, error: error)
            // A cancelled request says nothing about the vendor: the callers that wait ask anew.
            if error.code != .cancelled, !Task.isCancelled { refusal = failed }
            return try known(after: failed)
        }
        switch answer {
        case .disabled:
            refusal = Refusal(request: request, instant: context.environment.time.instant)
            held?.asked = nil
            return nil
        case .unchanged:
            held?.request = request
            held?.asked = began
            refusal = nil
        case .replaced(let ruleset, let validator, let raw):
            held = Held(ruleset: ruleset, validator: validator, request: request, asked: began)
            refusal = nil
            var archive = RulesArchive()
            archive.entries[""] = .init(validator: validator, raw: raw)
            try? await context.state.setValue(archive.written, for: Self.key)
        }
        return held.map { Known(ruleset: $0.ruleset) }
    }

    /// Returns the last good rules after a failure; `nil` if the vendor is disabled.
    private func known(after refusal: Refusal) throws(ExperimentationError) -> Known? {
        guard let error = refusal.error else { return nil }
        guard let held else { throw error }
        return Known(ruleset: held.ruleset, failure: error)
    }

    private func isGood(_ held: Held) -> Bool {
        guard let asked = held.asked, !requests.isOutdated(held.request) else { return false }
        return isWithinSpan(asked)
    }

    /// Whether the vendor needn't be asked again yet.
    private func isStanding(_ refusal: Refusal) -> Bool {
        if requests.isOutdated(refusal.request) { return false }
        if refusal.error == nil { return isWithinSpan(refusal.instant) }
        return refusal.instant.duration(to: context.environment.time.instant) < Self.patience
    }

    /// Whether what the vendor said then still holds.
    private func isWithinSpan(_ instant: ContinuousClock.Instant) -> Bool {
        guard let span = source.freshness.span else { return false }
        return instant.duration(to: context.environment.time.instant) < span
    }

    private func restore() async {
        guard !isRestored else { return }
        let stored: [UInt8]?
        // If the store fails, the next request reads them.
        do throws(ExperimentationError) { stored = try await context.state.value(for: Self.key) } catch { return }
        isRestored = true
        guard held == nil, let bytes = stored, let entry = RulesArchive(written: bytes)?.entries[""],
            let ruleset = try? source.ruleset(restoring: entry.raw)
        else { return }
        held = Held(ruleset: ruleset, validator: entry.validator)
    }
}
