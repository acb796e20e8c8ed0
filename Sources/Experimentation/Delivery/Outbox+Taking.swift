import Synchronization

extension Outbox {
    /// How many noted events wait at most for a store that fails.
    private static let mostNoted = 10_000

    /// Accepts an event: when this returns, the store has it.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - isHeld: Whether it waits for consent.
    ///   - isGranted: Whether the user agrees, so that what is held of theirs goes first.
    ///   - isWanted: Whether the user still agrees; asked before the event is stored, and after.
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store throws.
    func accept(
        _ envelope: Envelope,
        isHeld: Bool,
        isGranted: Bool = false,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws(ExperimentationError) {
        if pauses.contains(.closed) { throw ExperimentationError(.shutDown, "The client has been shut down.") }
        await takeInNoted()
        let entry = Entry(envelope: envelope, isHeld: isHeld, isGranted: isGranted, isWanted: isWanted)
        guard try await put([entry], isHeld: isHeld) == 1 else {
            throw ExperimentationError(.consentDenied, "The user has denied consent; the event was not accepted.")
        }
        deliverWhenDue()
    }

    /// Notes an event that will be accepted in a moment; never waits.
    nonisolated func note(
        _ envelope: Envelope,
        isHeld: Bool,
        isGranted: Bool = false,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) {
        let entry = Entry(envelope: envelope, isHeld: isHeld, isGranted: isGranted, isWanted: isWanted)
        intake.withLock { $0.append(entry) }
        Task { await self.takeInNoted() }
    }

    /// Moves noted events into the store, one mover at a time so that they stay in order.
    func takeInNoted() async {
        while let taking = takingNoted { await taking.value }
        guard intake.withLock({ !$0.isEmpty }) else { return }
        let task = Task { await self.moveNoted() }
        takingNoted = task
        await task.value
    }

    private func moveNoted() async {
        defer { takingNoted = nil }
        let entries = intake.withLock { noted in
            defer { noted = [] }
            return noted
        }
        var rest = entries[...]
        var most = Int.max
        while let isHeld = rest.first?.isHeld {
            let run = Array(rest.prefix { $0.isHeld == isHeld }.prefix(most))
            do {
                _ = try await put(run, isHeld: isHeld)
                rest = rest.dropFirst(run.count)
            } catch  where error.code == .store {
                // The store may recover; the next caller tries again.
                let kept = Array(rest)
                intake.withLock { $0 = Array((kept + $0).prefix(Self.mostNoted)) }
                environment.log.log(.error, "outbox.refused", "Exposures can't be stored at the moment: \(error)")
                return
            } catch  where run.count > 1 {
                // One of them is to blame; the others need not go with it.
                most = 1
            } catch {
                environment.log.log(.error, "outbox.refused", "A noted event can't be stored: \(error)")
                rest = rest.dropFirst(run.count)
            }
        }
        deliverWhenDue()
    }

    /// Stores events whose users still agree.
    ///
    /// - Returns: How many were stored and are still wanted.
    private func put(_ entries: [Entry], isHeld: Bool) async throws(ExperimentationError) -> Int {
        try await waitForWithdrawals(of: entries)
        let wanted = entries.filter { $0.isWanted() }
        guard !wanted.isEmpty else { return 0 }
        for entry in wanted {
            // The signal that consent was withdrawn doesn't give it.
            if !entry.envelope.event.isConsentSignal { deniedUsers.remove(entry.userID) }
            appending[entry.userID, default: 0] += 1
        }
        defer { for entry in wanted { appended(entry.userID) } }
        if isHeld {
            noteHeld(wanted)
        } else if mayHold.load(ordering: .relaxed) {
            for entry in wanted where entry.isGranted { try await letGo(of: entry.userID) }
        }
        // Once more behind it: somebody may have let go in between what was there.
        defer { if isHeld { noteHeld(wanted) } }
        try await store.append(wanted.map(\.envelope), isHeld: isHeld)
        let unwanted = wanted.filter { !$0.isWanted() }
        await remove(unwanted)
        if !isHeld { waiting += wanted.count - unwanted.count }
        return wanted.count - unwanted.count
    }

    /// Removes what was stored although its user no longer agreed, or remembers that this is owed: to fail here would have
    /// everything that was stored with it stored again.
    private func remove(_ unwanted: [Entry]) async {
        guard !unwanted.isEmpty else { return }
        owedRemovals += unwanted
        do throws(ExperimentationError) {
            try await removeOwed()
        } catch {
            waiting = max(waiting, 1)
            environment.log.log(.error, "outbox.store", "An event without consent can't be removed yet: \(error)")
        }
    }

    /// Removes what was stored although its user no longer agreed; what can't be removed stays owed.
    func removeOwed() async throws(ExperimentationError) {
        while let userID = owedRemovals.first?.userID {
            let owed = owedRemovals.filter { $0.userID == userID }
            owedRemovals.removeAll { $0.userID == userID }
            // Somebody who agrees again meanwhile keeps their events.
            guard owed.contains(where: { !$0.isWanted() }) else { continue }
            do {
                _ = try await store.purge(userID: userID)
            } catch {
                owedRemovals += owed
                throw error
            }
        }
    }

    /// Waits until nothing of these users' is being removed; who comes after an earlier withdrawal is owed nothing then.
    private func waitForWithdrawals(of entries: [Entry]) async throws(ExperimentationError) {
        let users = entries.map(\.userID)
        while true {
            await waitForPurge(of: users)
            let owed = entries.first {
                owedWithdrawals.contains($0.userID) && !$0.envelope.event.isConsentSignal && $0.isWanted()
            }
            guard let owed else { return }
            // Only who agrees keeps what is still there of before.
            if owed.isGranted { try await endWithdrawal(of: owed.userID) } else { try await follow(owed.userID) }
        }
    }

    private func noteHeld(_ entries: [Entry]) {
        mayHold.store(true, ordering: .relaxed)
        released.subtract(entries.map(\.userID))
    }

    private func appended(_ userID: String) {
        let left = appending[userID, default: 1] - 1
        appending[userID] = left > 0 ? left : nil
        guard left <= 0 else { return }
        for waiter in appendWaiters.removeValue(forKey: userID) ?? [] { waiter.resume() }
    }

    func waitForAppends(of userID: String) async {
        while appending[userID] != nil {
            await withCheckedContinuation { appendWaiters[userID, default: []].append($0) }
        }
    }
}
