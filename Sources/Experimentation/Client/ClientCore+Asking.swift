/// Asking a vendor that decides for each user, and reusing its answers.
extension ClientCore {
    /// The number of a user's contexts whose answers are cached if answers are reused.
    static let contextsOfUser = 4

    /// Returns a vendor's decisions for a user, or recent ones if the options allow that.
    func decided(
        by source: any DecisionSource,
        for context: EvaluationContext
    ) async throws(ExperimentationError) -> HeldDecisions {
        let digest = ContextDigest(context)
        guard let policy = reused.policy, let digest else { return try await decidedNow(source, context, digest) }
        if !isDisabled {
            let (now, changes) = (environment.time.instant, reused.changes)
            switch cache.recall(digest, of: context.user, at: now, by: policy, after: changes) {
            case .fresh(let held):
                reused.count(\.fresh)
                return held
            case .stale(let held, let isDue):
                reused.count(\.stale)
                if isDue { renew(source, context, digest) }
                return held
            case .failed(let error):
                reused.count(\.refused)
                throw error
            case .nothing: break
            }
        }
        switch reused.word(at: environment.time.instant) {
        case .ask: return try await decidedNow(source, context, digest)
        case .disabled:
            reused.count(\.refused)
            return hold(.none, by: source.freshness)
        case .failed(let error):
            reused.count(\.refused)
            throw error
        }
    }

    /// Requests a newer answer in the background.
    private func renew(_ source: any DecisionSource, _ context: EvaluationContext, _ digest: ContextDigest) {
        guard reused.word(at: environment.time.instant) == .ask else { return cache.giveUp(digest, of: context.user) }
        Task { _ = try? await decidedNow(source, context, digest) }
    }

    /// Asks the vendor, and keeps its answer.
    private func decidedNow(
        _ source: any DecisionSource,
        _ context: EvaluationContext,
        _ digest: ContextDigest?
    ) async throws(ExperimentationError) -> HeldDecisions {
        let removals = cache.removalCount(of: context.user)
        let changes = reused.changes
        var said: VendorAnswer
        do throws(ExperimentationError) {
            said = try await ask(source, for: context, digest)
            // The request may have been under way already when the vendor announced a change.
            if said.changes < changes { said = try await ask(source, for: context, digest) }
        } catch  where error.code.isOwn {
            // The vendor hasn't answered.
            if let digest { cache.giveUp(digest, of: context.user) }
            throw error
        } catch {
            let isRemembered = reused.policy != nil
            let now = environment.time.instant
            cache.fail(error, for: context.user, in: digest, isRemembered: isRemembered, at: now)
            fetchFailed(error, hasDecisions: cache.decisions(for: context.user) != nil)
            throw error
        }
        guard case .decided(let decisions) = said.answer else {
            if let digest { cache.giveUp(digest, of: context.user) }
            await killSwitch.set(true)
            return hold(.none, by: source.freshness)
        }
        var held = hold(decisions, by: source.freshness)
        held.changes = said.changes
        cache.keep(held, for: context.user, in: digest, since: removals)
        await killSwitch.set(false, asOf: said.throwings)
        killSwitch.announce(.ready, .ready)
        return held
    }

    /// Asks a vendor for decisions; concurrent requests for equal contexts are one.
    func ask(
        _ source: any DecisionSource,
        for context: EvaluationContext
    ) async throws(ExperimentationError) -> VendorAnswer {
        try await ask(source, for: context, ContextDigest(context))
    }

    private func ask(
        _ source: any DecisionSource,
        for context: EvaluationContext,
        _ digest: ContextDigest?
    ) async throws(ExperimentationError) -> VendorAnswer {
        let told = withLastWord(context)
        // A separate request, because a user who consents again mustn't share it.
        if told.user.consent != context.user.consent { return try await ask(source, for: told) }
        guard let digest else { return try await askOnce(source, for: context) }
        let question = SharedQuestion(context: digest, removals: cache.removalCount(of: context.user))
        return try await decisionFlights(question) { [self] () async throws(ExperimentationError) in
            try await askOnce(source, for: context)
        }
    }

    /// Returns a context with the user's latest choice of consent.
    ///
    /// A session may not know of a denial, and one may have come while the request waited for its turn.
    private func withLastWord(_ context: EvaluationContext) -> EvaluationContext {
        if context.user.consent == .denied || !outbox.isDenied(by: context.user.id) { return context }
        var told = context
        told.user.consent = .denied
        return told
    }

    private func askOnce(
        _ source: any DecisionSource,
        for context: EvaluationContext
    ) async throws(ExperimentationError) -> VendorAnswer {
        reused.count(\.asked)
        let (throwings, changes) = (killSwitch.throwings, reused.changes)
        let answer: DecisionAnswer
        do throws(ExperimentationError) {
            answer = try await environment.observed(.refresh(provider: provider.name)) {
                _ throws(ExperimentationError) in
                try await source.decisions(for: withLastWord(context))
            }
        } catch {
            reused.note(.failed(error), at: environment.time.instant)
            throw error
        }
        if case .decided = answer {
            reused.note(.decided, at: environment.time.instant)
        } else {
            reused.note(.disabled, at: environment.time.instant)
        }
        return VendorAnswer(answer: answer, throwings: throwings, changes: changes)
    }
}
