import Experimentation

/// The rules of one side of a move: fetches them when they are due, stores them for the next run, and keeps the last
/// good ones.
actor PartyRules {
    /// Rules in use.
    struct Known: Sendable {
        var ruleset: any Ruleset
        var version: String
        /// `nil` for rules of an earlier run.
        var age: Duration?
        /// Why the last fetch failed, if it did.
        var failure: ExperimentationError?
    }

    private struct Held {
        var ruleset: any Ruleset
        var validator: String?
        var version: String
        /// The number of the request that confirmed them last.
        var request = 0
        /// When the vendor was asked; the rules are at least as old.
        var asked: ContinuousClock.Instant
        /// When its answer came.
        var fetched: ContinuousClock.Instant
        var isRestored = false
    }

    private let source: any RulesetSource
    /// What the client kept before there was a move.
    private let kept: KeptBefore?
    /// What the client keeps of users.
    private let client: KeptBefore?
    private let state: any StateStore
    private let time: any TimeSource
    /// Admits one request to the vendor at a time.
    nonisolated let turn = AsyncSemaphore(limit: 1)
    private var requests = FetchNumbers()
    private var held: Held?
    /// When the vendor last said that it is disabled; `nil` if it has said something else since.
    private var disabled: (instant: ContinuousClock.Instant, request: Int)?
    /// When the last fetch failed, and why; `nil` if it didn't.
    private var failure: (instant: ContinuousClock.Instant, request: Int, error: ExperimentationError)?
    /// The rules of an earlier run.
    private var restored: Held?
    private var isRestored = false
    /// When the rules last served to each user were fetched.
    ///
    /// A session that already has the current rules and asks again wants newer ones.
    private var served = RecentlyUsed<ContinuousClock.Instant>(limit: 4_096)
    private static let key = "migration/rules"
    /// After a failure, requests without a session don't ask the vendor again for this long.
    private static let patience = Duration.seconds(2)

    init(
        _ source: any RulesetSource,
        in context: ProviderContext,
        before kept: KeptBefore? = nil,
        client: KeptBefore? = nil
    ) {
        self.source = source
        self.kept = kept
        self.client = client
        state = SealedState(context.state, log: context.environment.log)
        time = context.environment.time
    }

    /// Returns the rules, fetching them if they are due.
    ///
    /// - Parameters:
    ///   - user: The user to decide for.
    ///   - inSession: Whether a session asks. Asking again without a session, as on a server, doesn't mean that newer
    ///     rules are wanted.
    ///   - isForced: Whether to fetch even if the rules are fresh, or a request is under way.
    ///   - isShadow: Whether they are only for a comparison, in which a failed fetch must show.
    /// - Returns: The rules; `nil` if the vendor is disabled.
    /// - Throws: Why there is no good answer.
    func current(
        for user: String,
        inSession: Bool,
        isForced: Bool,
        isShadow: Bool = false
    ) async throws(ExperimentationError) -> Known? {
        let asked = time.instant
        let key = ExactText(user)
        if !isForced {
            if let held, isGood(held), !inSession || served.use(key).map({ $0 < held.fetched }) ?? true {
                return serve(held, to: key)
            }
            if !inSession, let disabled, !requests.isOutdated(disabled.request), isWithinSpan(disabled.instant) {
                return nil
            }
            if !inSession, !isShadow, let failure, !requests.isOutdated(failure.request),
                failure.instant.duration(to: asked) < Self.patience
            {
                return try await stopgap(for: key, inSession, or: failure.error)
            }
        }
        let first = requests.first(isForced: isForced)
        let found: Held?
        do throws(ExperimentationError) {
            found = try await turn.runShared { [self] () async throws(ExperimentationError) -> Held? in
                try await outcome(from: first, isShadow: isShadow)
            }
        } catch {
            if isShadow || error.code == .cancelled { throw error }
            return try await stopgap(for: key, inSession, or: error)
        }
        return found.map { serve($0, to: key) }
    }

    /// Returns the outcome of a request, which is made unless another one that suffices has finished meanwhile.
    private func outcome(from first: Int, isShadow: Bool) async throws(ExperimentationError) -> Held? {
        // Checked first, because it is what the vendor said last, even if an earlier request that suffices brought
        // rules.
        if let disabled, disabled.request >= first { return nil }
        if let held, held.request >= first { return held }
        if !isShadow, let failure, failure.request >= first { throw failure.error }
        await restore()
        return try await fetch()
    }

    private func fetch() async throws(ExperimentationError) -> Held? {
        let began = time.instant
        let request = requests.begin()
        defer { requests.end() }
        let answer: RulesetAnswer
        do throws(ExperimentationError) {
            answer = try await source.ruleset(ifNot: held?.validator)
        } catch {
            // A cancelled request says nothing about the vendor: the callers that wait ask anew.
            if error.code != .cancelled, !Task.isCancelled { failure = (time.instant, request, error) }
            throw error
        }
        (disabled, failure) = (nil, nil)
        switch answer {
        case .disabled:
            disabled = (time.instant, request)
            return nil
        case .unchanged:
            guard held != nil else {
                throw ExperimentationError(
                    .vendorFault,
                    "The vendor reports rules as unchanged that it never sent."
                )
            }
            held?.request = request
            held?.asked = began
            held?.fetched = time.instant
        case .replaced(let ruleset, let validator, let raw):
            held = Held(
                ruleset: ruleset,
                validator: validator,
                version: Self.version(of: raw),
                request: request,
                asked: began,
                fetched: time.instant
            )
            try? await state.setValue(raw, for: Self.key)
        }
        return held
    }

    /// Returns expired rules to a user who has none yet; throws to others, who keep their decisions.
    private func stopgap(
        for user: ExactText,
        _ inSession: Bool,
        or error: ExperimentationError
    ) async throws(ExperimentationError) -> Known {
        guard served.use(user) == nil else { throw error }
        if let held { return serve(held, to: user, after: error) }
        guard let restored else { throw error }
        // A session that has its decisions from the earlier run reports how old they are.
        if inSession, await client?.hasDecisions(of: user.text) == true { throw error }
        return serve(restored, to: user, after: error)
    }

    /// Marks the rules as outdated, because the vendor announced a change; the next request fetches them.
    func expire() { requests.expire() }

    /// Returns rules of this or an earlier run, of any age, without asking the vendor.
    func atHand() async -> (any Ruleset)? {
        if let held { return held.ruleset }
        await restore()
        return restored?.ruleset
    }

    private func serve(_ held: Held, to user: ExactText, after failure: ExperimentationError? = nil) -> Known {
        served.keep(held.fetched, for: user, weighing: 1)
        let age = held.isRestored ? nil : held.asked.duration(to: time.instant)
        return Known(ruleset: held.ruleset, version: held.version, age: age, failure: failure)
    }

    private func isGood(_ held: Held) -> Bool {
        disabled == nil && !requests.isOutdated(held.request) && isWithinSpan(held.asked)
    }

    /// Whether what the vendor said then still holds.
    private func isWithinSpan(_ instant: ContinuousClock.Instant) -> Bool {
        guard let span = source.freshness.span else { return false }
        return instant.duration(to: time.instant) < span
    }

    /// The age of the rules in use; `nil` if there are none.
    var age: Duration? { held.map { $0.asked.duration(to: time.instant) } }

    private func restore() async {
        if isRestored { return }
        var raw: [UInt8]?
        do throws(ExperimentationError) {
            raw = try await state.value(for: Self.key)
            if raw == nil { raw = try await kept?.ruleset() }
        } catch {
            // The next request reads them.
            return
        }
        // Others may have restored them meanwhile.
        if isRestored { return }
        isRestored = true
        guard let raw, let ruleset = try? source.ruleset(restoring: raw) else { return }
        restored = Held(
            ruleset: ruleset,
            version: Self.version(of: raw),
            asked: time.instant,
            fetched: time.instant,
            isRestored: true
        )
    }

    private static func version(of raw: [UInt8]) -> String {
        String(Digest.hex("rules", String(decoding: raw, as: UTF8.self)).prefix(16))
    }
}
