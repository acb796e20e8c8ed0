import Foundation
import Synchronization

/// What a session keeps in the store about its user, for a later run.
extension UserSession {
    // MARK: Decisions of a vendor that is asked

    /// Restores, once, the decisions of an earlier run if there are none yet, and the assignments that one of several
    /// vendors has made by rules.
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
        // What is known of the vendor takes precedence over one user's decisions of an earlier run.
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
            // The user may have denied consent since the question was asked.
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
            // Write assignments from the time when the session was last this user's.
            await writeAssignments(of: user.id)
            return try await core.kept.find([String: String].self, .assignments(of: user.id))
        }
        guard let stored else { return }
        state.withLock { state in
            guard state.restoration.isCurrent(reading), mayKeep(state.user) else { return }
            state.assignments.restore(stored, watch)
        }
    }

    /// Stores a user's new assignments, once it is known what the store has.
    ///
    /// Those from before the user consented still have to be stored.
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

    /// Writes a user's list that waits to be written, if there is one; called when its turn has come.
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

    /// Restores what is stored about the user, once, as soon as there may be something; callers that need it meanwhile
    /// wait too.
    ///
    /// - Parameter read: Restores it; takes the user, the revision and the reading's number.
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

    /// Stores data of a user who doesn't deny consent in any session, and removes it again if the user denies
    /// meanwhile: a denial itself removes only what was there before it.
    ///
    /// This is for adapters that keep data of users outside the client's store.
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

    /// Whether a user denies consent, or has done so during work for that user.
    ///
    /// Both are checked: the work may have begun when a denial had been noted but was not yet in the line.
    func isDenied(_ userID: String, _ watch: UserRemovals.Watch) -> Bool {
        watch.isRemoved || core.outbox.isDenied(by: userID)
    }

    /// Whether this user's data may be stored.
    private func mayKeep(_ user: User) -> Bool {
        user.consent == .granted || (user.consent == .unknown && !core.roles.needsConsent)
    }
}
