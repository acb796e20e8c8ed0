import Synchronization

/// The denials of consent that a failing store couldn't carry out.
///
/// While one is owed, no events of its user are sent or accepted. Every round of deliveries and every statement of the
/// user retries it; a note in the state store, if that works, makes the next run do the same.
final class OwedDenials: Sendable {
    private let store: any OutboxStore
    private let kept: KeptState
    private let log: any LogSink
    private let state = Mutex<Set<ExactText>>([])
    /// A denial that is carried out late mustn't undo the consent that followed it.
    private let turn = AsyncSemaphore(limit: 1)

    init(store: any OutboxStore, kept: KeptState, log: any LogSink) {
        self.store = store
        self.kept = kept
        self.log = log
    }

    /// The users whose denials are owed.
    var users: Set<ExactText> { state.withLock { $0 } }

    /// Notes that a denial couldn't be carried out.
    func owe(_ userID: String) async {
        state.withLock { _ = $0.insert(ExactText(userID)) }
        // In turn: a note written while the denial is being carried out would follow its own removal, and stay.
        _ = try? await inTurn(userID) { () async throws(ExperimentationError) in
            await self.kept.oweDenial(of: userID)
        }
    }

    /// Restores what earlier runs owe.
    func restore() async {
        let owed = await kept.owedDenials()
        state.withLock { $0.formUnion(owed.map { ExactText($0) }) }
        await carryOut()
    }

    /// Carries out what is owed, as far as the stores allow.
    func carryOut() async {
        for user in users {
            do throws(ExperimentationError) { try await carryOut(user.text) } catch {
                log.log(.error, "outbox.store", "A denial of consent can't be carried out yet: \(error)")
            }
        }
    }

    /// Carries out a user's denial, if one is owed.
    func carryOut(_ userID: String) async throws(ExperimentationError) {
        try await inTurn(userID) { () async throws(ExperimentationError) in
            _ = try await self.store.setConsent([ConsentChange(userID: userID, isGranted: false)])
            try await self.kept.forget(userID: userID)
            try await self.forget(userID)
        }
    }

    /// Settles an owed denial, because the user consents or it was carried out.
    ///
    /// - Parameters:
    ///   - userID: The user.
    ///   - change: Runs before any other task may carry out the denial.
    /// - Throws: What the stores throw; the denial is then still owed.
    func end(
        _ userID: String,
        _ change: @escaping @Sendable () async throws(ExperimentationError) -> Void = {}
    ) async throws(ExperimentationError) {
        try await inTurn(userID) { () async throws(ExperimentationError) in
            try await self.forget(userID)
            try await change()
        }
    }

    /// Removes the note first: it must not outlive the denial.
    private func forget(_ userID: String) async throws(ExperimentationError) {
        try await kept.endDenial(of: userID)
        state.withLock { _ = $0.remove(ExactText(userID)) }
    }

    /// Runs an action if a user's denial is owed, one action at a time.
    ///
    /// It runs in a task of its own: others may wait for it too, and the caller's cancellation doesn't concern them.
    private func inTurn(
        _ userID: String,
        _ change: @escaping @Sendable () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let task = Task { () async -> Result<Void, ExperimentationError> in
            guard (try? await self.turn.enter()) != nil else { return .success(()) }
            defer { self.turn.leave() }
            guard self.users.contains(ExactText(userID)) else { return .success(()) }
            do throws(ExperimentationError) { return .success(try await change()) } catch { return .failure(error) }
        }
        try await task.value.get()
    }
}
