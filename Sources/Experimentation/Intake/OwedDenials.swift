import Synchronization

/// The denials of consent that a failing store couldn't carry out.
///
/// While one is owed, no events of its user are sent or accepted. Every round of deliveries and every statement of the
/// user retries it; a note in the state store, if that works, makes the next run do the same.
///
/// Until the notes of earlier runs have been read, any user's denial may be owed: nothing is sent, and when a user
/// consents, that user's note is removed first.
final class OwedDenials: Sendable {
    private struct State {
        var users: Set<ExactText> = []
        /// Those users whose events the store has removed, so that only what else is kept about them is left.
        var removed: Set<ExactText> = []
        /// Whether the notes of earlier runs have been read.
        var isRestored = false
    }

    private let store: any OutboxStore
    private let kept: KeptState
    private let log: any LogSink
    private let state = Mutex(State())
    /// A denial that is carried out late mustn't undo the consent that followed it.
    private let turn = AsyncSemaphore(limit: 1)

    init(store: any OutboxStore, kept: KeptState, log: any LogSink) {
        self.store = store
        self.kept = kept
        self.log = log
    }

    /// The users whose denials are owed.
    var users: Set<ExactText> { state.withLock { $0.users } }

    /// Whether no denial is owed.
    var areNone: Bool { state.withLock { $0.isRestored && $0.users.isEmpty } }

    /// Whether a user's denial is owed, as far as is known.
    func mayBeOwed(_ userID: String) -> Bool {
        state.withLock { !$0.isRestored || $0.users.contains(ExactText(userID)) }
    }

    /// Notes that denials couldn't be carried out.
    ///
    /// - Parameters:
    ///   - userIDs: The users.
    ///   - areOverruled: Whether they have consented since, so that nothing is owed. Called under the lock under which
    ///     their consent looks for a denial to end, so that consent can't come in between.
    func owe(_ userIDs: [String], unless areOverruled: () -> Bool = { false }) async {
        hold(userIDs, unless: areOverruled)
        await note(userIDs)
    }

    /// Stops deliveries and events of users whose denials couldn't be carried out.
    func hold(_ userIDs: [String], unless areOverruled: () -> Bool = { false }) {
        let users = userIDs.lazy.map { ExactText($0) }
        state.withLock { state in
            if areOverruled() { return }
            state.users.formUnion(users)
            state.removed.subtract(users)
        }
    }

    /// Notes for the next run which of the users are owed a denial.
    ///
    /// All notes are written at once: a store that makes its callers wait makes them wait together.
    func note(_ userIDs: [String]) async {
        if userIDs.isEmpty { return }
        // Take turns: a note written while the denial is being carried out would follow its own removal, and stay.
        await turn.run {
            let users = self.users
            await withTaskGroup { group in
                for userID in userIDs where users.contains(ExactText(userID)) {
                    group.addTask { await self.kept.oweDenial(of: userID) }
                }
            }
        }
    }

    /// Carries out what is owed, including what earlier runs owe, as far as the stores allow.
    ///
    /// - Throws: What the state store throws while what earlier runs owe can't be read; nothing may be sent then.
    func carryOut() async throws(ExperimentationError) {
        if areNone { return }
        try await turn.run { () async throws(ExperimentationError) in
            try await self.restore()
            await self.carryOutAll()
        }
    }

    /// Reads the notes of earlier runs; in turn, so that none is read whose denial is being ended.
    private func restore() async throws(ExperimentationError) {
        if state.withLock({ $0.isRestored }) { return }
        let owed = try await kept.owedDenials()
        state.withLock { state in
            state.users.formUnion(owed.lazy.map { ExactText($0) })
            state.isRestored = true
        }
    }

    /// Carries out what is known to be owed: the removal of events in one transaction.
    private func carryOutAll() async {
        let users = users
        do throws(ExperimentationError) { try await removeEvents(of: users) } catch { return report(error) }
        await withTaskGroup { group in
            for user in users {
                group.addTask {
                    do throws(ExperimentationError) {
                        try await self.kept.forget(userID: user.text)
                        try await self.forget(user.text)
                    } catch {
                        self.report(error)
                    }
                }
            }
        }
    }

    /// Removes users' events where that isn't done yet: removing what else is kept about them may fail for longer.
    private func removeEvents(of users: Set<ExactText>) async throws(ExperimentationError) {
        let left = users.subtracting(state.withLock { $0.removed })
        if left.isEmpty { return }
        _ = try await store.setConsent(left.map { ConsentChange(userID: $0.text, isGranted: false) })
        state.withLock { $0.removed.formUnion(left) }
    }

    private func report(_ error: ExperimentationError) {
        log.log(.error, "outbox.store", "A denial of consent can't be carried out yet: \(error)")
    }

    /// Carries out a user's denial, if one is owed.
    func carryOut(_ userID: String) async throws(ExperimentationError) {
        try await turn.run { () async throws(ExperimentationError) in
            guard self.users.contains(ExactText(userID)) else { return }
            try await self.removeEvents(of: [ExactText(userID)])
            try await self.kept.forget(userID: userID)
            try await self.forget(userID)
        }
    }

    /// Ends a denial that may be owed, because its user consents or it was carried out.
    ///
    /// - Throws: What the state store throws; the denial is then still owed.
    func end(_ userID: String) async throws(ExperimentationError) {
        guard mayBeOwed(userID) else { return }
        try await turn.run { () async throws(ExperimentationError) in
            if self.mayBeOwed(userID) { try await self.forget(userID) }
        }
    }

    /// Removes the note first: it must not outlive the denial.
    private func forget(_ userID: String) async throws(ExperimentationError) {
        try await kept.endDenial(of: userID)
        state.withLock { state in
            state.users.remove(ExactText(userID))
            state.removed.remove(ExactText(userID))
        }
    }
}
