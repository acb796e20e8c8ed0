import Foundation
import Synchronization

/// What a session keeps in the store of its user, for a later run.
extension UserSession {
    // MARK: Decisions of a vendor that is asked

    /// Restores the decisions of an earlier run, once, if there are none yet.
    func restoreDecisions(by freshness: Freshness) async {
        guard let (user, revision) = userToRestore(), snapshots.current.revision == 0 else { return }
        guard let stored = await core.kept.read(StoredDecisions.self, .decisions(of: user.id)) else { return }
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
        // The session may have become another user's while it read.
        guard state.withLock({ $0.isAbout(user.id) }), update({ $0.revision == 0 ? marked(snapshot) : nil })
        else { return }
        // What is known of the vendor outweighs one user's decisions of an earlier run.
        guard core.status.status == .notReady else { return }
        if !snapshot.isOverdue {
            core.status.announce(.ready, .ready)
        } else if snapshot.afterExpiry == .stale {
            core.status.announce(.stale, .stale)
        }
    }

    /// Stores the decisions that a vendor has made in a context.
    func keep(_ decisions: Decisions, for context: EvaluationContext) async {
        guard mayKeep(context.user) else { return }
        await core.kept.write(StoredDecisions(decisions, date: context.date), of: context.user.id)
        await core.decisionTrimmer.trim()
        await removeIfDenied(context.user.id)
    }

    // MARK: Assignments by published rules

    /// Restores the assignments of an earlier run, once, beneath those of this one.
    func restoreAssignments() async {
        guard core.roles.assignments.isSticky, let (user, _) = userToRestore() else { return }
        guard let stored = await core.kept.read([String: String].self, .assignments(of: user.id)) else { return }
        state.withLock { state in
            // A denial meanwhile has removed what was stored.
            guard state.isAbout(user.id), mayKeep(state.user) else { return }
            state.earlierAssignments.merge(stored) { present, _ in present }
            state.storedAssignments = stored
        }
    }

    /// Stores what is new among the assignments of a user.
    func keepAssignments(_ decisions: Decisions, of user: User) async {
        guard core.roles.assignments.isSticky else { return }
        let new = EarlierAssignments(decisions.assignments)
        let unstored = state.withLock { state -> [String: String]? in
            guard state.isAbout(user.id) else { return nil }
            state.earlierAssignments.merge(new.variations) { present, _ in present }
            // Compared with the store: what came before the user consented is still to be written.
            guard mayKeep(state.user), state.earlierAssignments != state.storedAssignments else { return nil }
            // Before the write: a denial meanwhile takes it back, even if the user has consented again by its end.
            state.storedAssignments = state.earlierAssignments
            return state.earlierAssignments
        }
        guard let unstored else { return }
        if await !core.kept.write(unstored, .assignments(of: user.id)) {
            state.withLock { state in
                if state.isAbout(user.id) { state.storedAssignments = [:] }
            }
        }
        await removeIfDenied(user.id)
    }

    // MARK: Consent

    /// Returns the user whose stored state is to be restored, and the revision: once, as soon as there may be such state.
    private func userToRestore() -> (User, UInt64)? {
        state.withLock { state in
            guard !state.isRestored, mayKeep(state.user) else { return nil }
            state.isRestored = true
            return (state.user, state.revision)
        }
    }

    /// Removes what has just been stored of a user: a denial meanwhile has removed only what was there before.
    func removeIfDenied(_ userID: String) async {
        let isDenied = state.withLock { $0.isAbout(userID) && $0.user.consent == .denied }
        if isDenied { try? await core.kept.forget(userID: userID) }
    }

    /// Whether this user's data may be stored.
    private func mayKeep(_ user: User) -> Bool {
        user.consent == .granted || (user.consent == .unknown && !core.roles.needsConsent)
    }
}
