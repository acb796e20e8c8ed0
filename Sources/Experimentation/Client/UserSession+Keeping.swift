import Foundation
import Synchronization

/// What a session keeps in the store of its user, for a later run.
extension UserSession {
    // MARK: Decisions of a vendor that is asked

    /// Restores the decisions of an earlier run, once, if there are none yet, and what one of several vendors has assigned
    /// by rules.
    func restoreDecisions(by freshness: Freshness) async {
        await restore { [self] user, revision, reading throws(ExperimentationError) in
            if core.roles.assignments.isSticky { try await readAssignments(of: user, reading) }
            guard snapshots.current.revision == 0 else { return }
            let stored = try await core.kept.find(StoredDecisions.self, .decisions(of: user.id))
            if let stored { use(stored, revision, reading, by: freshness) }
        }
    }

    private func use(_ stored: StoredDecisions, _ revision: UInt64, _ reading: UInt64, by freshness: Freshness) {
        let age = max(0, core.environment.time.now.timeIntervalSince(stored.date))
        let instant = core.environment.time.instant.advanced(by: .seconds(-age))
        let snapshot = Snapshot(
            decisions: stored.decisions,
            context: ContextBox(currentContext()),
            origin: .restored,
            date: stored.date,
            instant: instant,
            expiry: Expiry(of: freshness, madeAt: instant, by: core.environment.time),
            afterExpiry: core.options.afterExpiry ?? freshness.afterExpiry,
            revision: revision
        )
        let isUsed = update { current in
            guard current.revision == 0, state.withLock({ $0.restoration.isCurrent(reading) }) else { return nil }
            return marked(snapshot)
        }
        guard isUsed else { return }
        // What is known of the vendor outweighs one user's decisions of an earlier run.
        guard core.status.status == .notReady else { return }
        if !snapshot.isOverdue {
            core.killSwitch.announce(.ready, .ready)
        } else if snapshot.afterExpiry == .stale {
            core.killSwitch.announce(.stale, .stale)
        }
    }

    /// Stores the decisions that a vendor has made in a context, unless later ones have come: those are stored last.
    func keep(_ decisions: Decisions, to question: UInt64, for context: EvaluationContext) async {
        let user = context.user
        guard mayKeep(user) else { return }
        await store(of: user.id) {
            // Since the question was asked.
            if state.withLock({ $0.isAbout(user.id) && $0.user.consent == .denied }) { return }
            await writingTurn.run {
                if self.hasDecisions(ofUser: user.id, after: question) { return }
                await self.core.kept.write(StoredDecisions(decisions, date: context.date), of: user.id)
            }
            await core.decisionTrimmer.trim()
        }
    }

    private func hasDecisions(ofUser userID: String, after question: UInt64) -> Bool {
        let snapshot = snapshots.current
        return snapshot.question > question && ExactText(snapshot.context.context.user.id) == ExactText(userID)
    }

    // MARK: Assignments by published rules

    /// Restores the assignments of an earlier run, once.
    func restoreAssignments() async {
        guard core.roles.assignments.isSticky else { return }
        await restore { [self] user, _, reading throws(ExperimentationError) in
            try await readAssignments(of: user, reading)
        }
    }

    private func readAssignments(of user: User, _ reading: UInt64) async throws(ExperimentationError) {
        let watch = core.kept.removals.watch(user.id)
        let stored = try await writingTurn.run { [self] () async throws(ExperimentationError) in
            // From when the session was last this user's.
            await writeAssignments(of: user.id)
            return try await core.kept.find([String: String].self, .assignments(of: user.id))
        }
        guard let stored else { return }
        state.withLock { state in
            guard state.restoration.isCurrent(reading), mayKeep(state.user) else { return }
            state.assignments.restore(stored, watch)
        }
    }

    /// Stores what is new among the assignments of a user, once it is known what the store has.
    ///
    /// What came before the user consented is still to be stored.
    func keepAssignments(_ decisions: Decisions, of user: User) async {
        guard core.roles.assignments.isSticky else { return }
        state.withLock { state in
            if state.isAbout(user.id) { state.assignments.decide(EarlierAssignments(decisions.assignments)) }
        }
        await store(of: user.id) {
            let isNew = state.withLock { state in
                guard state.isAbout(user.id), state.restoration.isDone, mayKeep(state.user),
                    let list = state.assignments.takeUnstored({ core.kept.removals.watch(user.id) })
                else { return false }
                state.unwritten[ExactText(user.id)] = list
                return true
            }
            if isNew { await writingTurn.run { await self.writeAssignments(of: user.id) } }
        }
    }

    /// Writes the list of a user that waits for it, if there is one; called when it is its turn.
    private func writeAssignments(of userID: String) async {
        guard let list = state.withLock({ $0.unwritten.removeValue(forKey: ExactText(userID)) }) else { return }
        let removal = core.kept.removals.watch(userID)
        let written = await core.kept.change(.assignments(of: userID), believed: list.stored, list.merged)
        state.withLock { state in
            guard state.isAbout(userID) else { return }
            guard let written else { return state.assignments.forgetStored() }
            // Decisions that were made with another variation are out of date, as after `honor(_:)`.
            if !isDenied(userID, removal), state.assignments.adopt(written) { state.revision += 1 }
        }
    }

    // MARK: Consent

    /// Restores what is stored of the user, once, as soon as there may be something; callers that need it meanwhile wait too.
    ///
    /// - Parameter read: Restores it; given the user, the revision and the reading's number.
    private func restore(
        _ read: @escaping @Sendable (User, UInt64, UInt64) async throws(ExperimentationError) -> Void
    ) async {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard mayKeep(state.user) else { return nil }
            let (user, revision) = (state.user, state.revision)
            state.restoration.begin { reading in
                Task {
                    var hasFailed = false
                    do throws(ExperimentationError) { try await read(user, revision, reading) } catch {
                        hasFailed = true
                    }
                    self.state.withLock { $0.restoration.end(reading, hasFailed: hasFailed) }
                }
            }
            return state.restoration.task
        }
        await task?.value
    }

    /// Stores something of a user who doesn't deny consent in whichever session, and removes it again if they do
    /// meanwhile: a denial removes only what is there before it.
    ///
    /// For adapters that keep something of users elsewhere than in the client's store.
    package func store(
        of userID: String,
        _ write: () async -> Void,
        orRemove remove: () async -> Void
    ) async {
        await core.denials.watching(userID) { watch in
            if core.outbox.isDenied(by: userID) { return }
            await write()
            if isDenied(userID, watch) { await remove() }
        }
    }

    private func store(of userID: String, _ write: () async -> Void) async {
        await store(of: userID, write) { await core.outbox.forget(userID) }
    }

    /// Whether a user denies consent, or has done so during a work for them.
    ///
    /// Both: the work may have begun when a denial was noted already, and not yet in the line.
    func isDenied(_ userID: String, _ watch: UserRemovals.Watch) -> Bool {
        watch.isRemoved || core.outbox.isDenied(by: userID)
    }

    /// Whether this user's data may be stored.
    private func mayKeep(_ user: User) -> Bool {
        user.consent == .granted || (user.consent == .unknown && !core.roles.needsConsent)
    }
}
