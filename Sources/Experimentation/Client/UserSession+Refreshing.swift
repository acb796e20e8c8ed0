import Foundation
import Synchronization

extension UserSession {
    /// Brings the decisions up to date, by the vendor's rules of freshness.
    ///
    /// Concurrent calls for the same user and attributes share one request. On failure the last good decisions stay,
    /// with reason ``Reason/stale``; if there are none, those of an earlier run are used, with reason
    /// ``Reason/cached``. Where a vendor publishes rules, the last good ones decide for a user who has changed.
    ///
    /// - Parameter force: Whether to ask the vendor even if the decisions haven't expired.
    /// - Throws: Why there are no new decisions; ``ErrorCode/unsupported`` if the vendor makes none;
    ///   ``ErrorCode/cancelled`` at once if this task is cancelled, while the request goes on for other callers that
    ///   wait for it.
    public func refresh(force: Bool = false) async throws(ExperimentationError) {
        _ = try await refreshUnlessDisabled(force: force)
    }

    /// Brings the decisions up to date as ``refresh(force:)`` does, for adapters that need to know what was found: the
    /// kill switch may be off again by the time the caller looks.
    ///
    /// - Returns: Whether there are decisions; not if the vendor's kill switch was on.
    /// - Throws: As ``refresh(force:)``.
    package func refreshUnlessDisabled(force: Bool = false) async throws(ExperimentationError) -> Bool {
        var isAnswered = false
        // A change of the user during the request invalidates its answer. A caller that finds the kill switch on has no
        // answer if another user's answer turns it off meanwhile. Three rounds are more than any real caller needs.
        for _ in 0..<3 {
            let revision = state.withLock { $0.revision }
            isAnswered = try await refreshOnce(force: force)
            if !isAnswered, !core.isDisabled { continue }
            if state.withLock({ $0.revision }) == revision { break }
        }
        return isAnswered
    }

    /// - Returns: Whether there are decisions; not if the vendor's kill switch was on.
    private func refreshOnce(force: Bool) async throws(ExperimentationError) -> Bool {
        let isAnswered: Bool
        let heard = core.unheardChanges.count
        switch core.roles.decisions {
        case nil: throw core.noDecisions
        case .asked(let source): isAnswered = try await refresh(from: source, force: force)
        case .computed(let source): isAnswered = try await compute(by: source.freshness, force: force)
        }
        if let notice = core.unheardChanges.notice(after: heard) {
            markStale()
            core.announceStale(notice)
        }
        return isAnswered
    }

    // MARK: Vendors that decide

    private func refresh(from source: any DecisionSource, force: Bool) async throws(ExperimentationError) -> Bool {
        await restoreDecisions(by: source.freshness)
        let (context, question) = question()
        try context.user.validate()
        if !force, isGood(source.freshness, for: context) { return true }
        let said: VendorAnswer
        do throws(ExperimentationError) {
            said = try await core.ask(source, for: context)
        } catch  where error.code.isOwn {
            // The vendor hasn't answered.
            throw error
        } catch {
            markStale(through: context.revision, question)
            core.fetchFailed(error, hasDecisions: snapshots.current.revision > 0)
            throw error
        }
        switch said.answer {
        case .disabled:
            await core.killSwitch.set(true)
            return false
        case .decided(let decisions):
            // Publish first: a reader that learns that the switch is off must find the decisions, and a later answer
            // mustn't precede them.
            let isPublished = publish(decisions, to: question, context: context, freshness: source.freshness)
            await core.killSwitch.set(false, asOf: said.throwings)
            guard isPublished else { return true }
            core.killSwitch.announce(.ready, .ready)
            await keep(decisions, to: question, for: context)
            await keepAssignments(decisions, of: context.user)
            return true
        }
    }

    private func isGood(_ freshness: Freshness, for context: EvaluationContext) -> Bool {
        guard let lifetime = freshness.lifetime, lifetime > .zero else { return false }
        let snapshot = snapshots.current
        guard snapshot.revision == context.revision, case .fresh = snapshot.origin else { return false }
        // Attributes of the client, of the task or shared ones may have changed without a change of the user's own.
        let former = snapshot.context.context
        guard former.user == context.user, former.overrides == context.overrides else { return false }
        return snapshot.instant.duration(to: core.environment.time.instant) <= lifetime
    }

    // MARK: Vendors that publish rules

    private func compute(by freshness: Freshness, force: Bool) async throws(ExperimentationError) -> Bool {
        try currentContext().user.validate()
        let rules: PublishedRules?
        do throws(ExperimentationError) {
            rules = try await core.rules?.current(force: force)
        } catch  where error.code.isOwn {
            throw error
        } catch {
            // The last good rules also apply to what has changed since they last decided.
            if snapshots.current.revision < state.withLock({ $0.revision }), let rules = core.rules?.published.current {
                await apply(rules, freshness: freshness)
            }
            // Unless other rules have come since the failure.
            if core.rules?.published.current.isStale ?? false { markStale() }
            throw error
        }
        guard let rules else { return false }
        await apply(rules, freshness: freshness)
        return true
    }

    /// Decides by the rules of an earlier run, until polling has replaced them; it never waits for the vendor.
    ///
    /// - Returns: Whether it did: not if there are no such rules, and not while the kill switch is on.
    /// - Throws: Why there can be no decisions for this user.
    package func decideByRestoredRules() async throws(ExperimentationError) -> Bool {
        guard case .computed(let source) = core.roles.decisions, source.freshness.polling != nil else { return false }
        try currentContext().user.validate()
        // As in a refresh, a change of the user meanwhile needs another round.
        for _ in 0..<3 {
            guard !core.isDisabled, let rules = core.rules?.published.current, rules.isRestored else { return false }
            if await apply(rules, freshness: source.freshness) { return true }
        }
        return false
    }

    @discardableResult
    private func apply(_ rules: PublishedRules, freshness: Freshness) async -> Bool {
        guard let kept = rules.kept else { return false }
        let revision = state.withLock { $0.revision }
        await restoreAssignments()
        let (context, question) = question()
        // The session's user may have changed, and the new one's assignments may not have been read.
        guard context.revision == revision else { return false }
        let decisions = kept.ruleset.decisions(for: context)
        let isPublished = publish(
            decisions,
            to: question,
            context: context,
            freshness: freshness,
            date: kept.date,
            origin: rules.origin,
            instant: kept.instant
        )
        if isPublished { await keepAssignments(decisions, of: context.user) }
        return isPublished
    }

    /// Honors assignments that are stored elsewhere, for this session.
    ///
    /// - Parameter assignments: The assignments; an existing assignment of the same group takes precedence.
    public func honor(_ assignments: EarlierAssignments) {
        state.withLock { state in
            state.assignments.honor(assignments)
            state.revision += 1
        }
    }

    // MARK: Either kind

    func currentContext() -> EvaluationContext {
        let state = state.withLock { ($0.user, $0.assignments.variations, $0.attributeDates, $0.revision) }
        return core.context(for: state.0, earlierAssignments: state.1, attributeDates: state.2, revision: state.3)
    }

    /// Numbers a question for decisions: a later question may be answered earlier.
    private func question() -> (EvaluationContext, UInt64) {
        let number = state.withLock { state in
            state.questions += 1
            return state.questions
        }
        return (currentContext(), number)
    }

    /// Publishes decisions, unless the user has changed since they were requested, or later ones have come.
    private func publish(
        _ decisions: Decisions,
        to question: UInt64,
        context: EvaluationContext,
        freshness: Freshness,
        date: Date? = nil,
        origin: Snapshot.Origin = .fresh,
        instant: ContinuousClock.Instant? = nil
    ) -> Bool {
        let date = date ?? core.environment.time.now
        let age = max(0, core.environment.time.now.timeIntervalSince(date))
        let instant = instant ?? core.environment.time.instant.advanced(by: .seconds(-age))
        let snapshot = Snapshot(
            decisions: decisions,
            context: ContextBox(context),
            origin: origin,
            date: date,
            instant: instant,
            expiry: Expiry(of: freshness, madeAt: instant, by: core.environment.time),
            afterExpiry: core.options.afterExpiry ?? freshness.afterExpiry,
            revision: context.revision,
            question: question
        )
        return update { current in
            let revision = state.withLock { $0.revision }
            guard revision == context.revision, current.yields(to: question, at: revision) else { return nil }
            return marked(snapshot)
        }
    }

    /// Returns the snapshot, with marks for what this session has already recorded.
    func marked(_ snapshot: Snapshot) -> Snapshot {
        let (recorded, userID) = state.withLock { ($0.recorded, $0.user.id) }
        guard !recorded.isEmpty, core.roles.flagSeen == nil else { return snapshot }
        for (index, assignment) in snapshot.decisions.catalogue.assignments.enumerated()
        where recorded.contains(ExposureKey(userID: userID, assignment: assignment)) {
            snapshot.marks.insert(index)
        }
        return snapshot
    }

    /// Marks the current decisions as stale.
    ///
    /// - Parameters:
    ///   - revision: The revision of the user in a failed request; decisions for a later one aren't affected.
    ///   - question: The failed request; the answers to later ones aren't affected.
    func markStale(through revision: UInt64 = .max, _ question: UInt64 = .max) {
        update { snapshot in
            guard snapshot.revision > 0, snapshot.yields(to: question, at: revision), case .fresh = snapshot.origin
            else { return nil }
            return marked(snapshot.with(origin: .stale))
        }
    }
}

extension User {
    /// Whether the user has no id of either kind, so that nothing can be decided for them.
    @inline(__always)
    var hasNoID: Bool { id.isEmpty && anonymousID?.isEmpty ?? true }

    /// Checks the attributes that every vendor needs.
    func validate() throws(ExperimentationError) {
        if hasNoID {
            throw ExperimentationError(.targetingKeyMissing, "The user has no id.")
        }
        try attributes.validate()
    }
}
