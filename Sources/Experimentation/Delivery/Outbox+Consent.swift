import Synchronization

/// What becomes of a user's events when they agree or no longer do.
extension Outbox {
    /// Lets a user's held events go.
    ///
    /// - Parameters:
    ///   - userID: Whose.
    ///   - isGranted: Whether the user agrees; asked at the last moment, because a withdrawal may have come first.
    /// - Throws: ``ErrorCode/store``.
    func release(userID: String, isGranted: @escaping @Sendable () -> Bool) async throws(ExperimentationError) {
        await waitForPurge(of: [userID])
        guard isGranted() else { return }
        deniedUsers.remove(userID)
        try await endWithdrawal(of: userID)
        await takeInNoted()
        // What is on its way into the store was to be held when it set out.
        await waitForAppends(of: userID)
        released.remove(userID)
        try await letGo(of: userID)
        waiting = max(waiting, 1)
        deliverWhenDue()
    }

    /// Lets go what an earlier run may have held of a user who comes with consent.
    func welcome(userID: String, isGranted: @escaping @Sendable () -> Bool) async {
        guard mayHold.load(ordering: .relaxed), !released.contains(userID) else { return }
        do throws(ExperimentationError) {
            try await release(userID: userID, isGranted: isGranted)
        } catch {
            // Their next event tries again.
            environment.log.log(.error, "outbox.store", "Held events can't be let go at the moment: \(error)")
        }
    }

    /// How many users are remembered at most of whom nothing is held.
    private static let mostReleased = 10_000

    /// Has the store let a user's held events go, unless it has done so and nothing was held since.
    func letGo(of userID: String) async throws(ExperimentationError) {
        while let gate = beingReleased[userID] { await gate.wait() }
        guard !released.contains(userID) else { return }
        let gate = OneShot()
        beingReleased[userID] = gate
        defer {
            beingReleased[userID] = nil
            gate.open()
        }
        if released.count >= Self.mostReleased { released = [] }
        // Before the store does it: what is held from now on counts as held.
        released.insert(userID)
        do {
            try await store.release(userID: userID)
        } catch {
            released.remove(userID)
            throw error
        }
    }

    /// Removes a user's waiting events; when this returns, nothing of theirs is under way, and nothing will be sent but
    /// the consent signal.
    ///
    /// - Parameters:
    ///   - userID: Whose.
    ///   - isDenied: Whether that is still wanted; if the user agrees again meanwhile, their events stay.
    /// - Returns: How many events were removed.
    /// - Throws: ``ErrorCode/store``.
    @discardableResult
    func purge(
        userID: String,
        isDenied: @escaping @Sendable () -> Bool = { true }
    ) async throws(ExperimentationError) -> Int {
        await waitForPurge(of: [userID])
        guard isDenied() else { return 0 }
        deniedUsers.insert(userID)
        intake.withLock { $0.removeAll { $0.userID == userID && !$0.envelope.event.isConsentSignal } }
        // They go back, and in their order, if nothing comes of the removal.
        var leased = forgetAhead(of: userID)
        var isRemoved = false
        defer { if !isRemoved { giveBack(leased) } }
        while let taking = takingNoted { await taking.value }
        await waitForAppends(of: userID)
        while let underWay, underWay.concerns(userID) {
            // Others' events in it are tried again; that costs less than a request that nobody agreed to.
            isInterrupted = true
            underWay.task.cancel()
            await underWay.ended.wait()
        }
        // What the vendor already has counts as delivered.
        try await settleBefore()
        guard isDenied() else { return 0 }
        // What was being leased when the purge began has come since, or is still to come.
        defer { leased += forgetAhead(of: userID) }
        let removed = try await removeStored(of: userID)
        isRemoved = true
        return removed
    }

    /// Has the store remove a user's events, while whoever stores more of theirs waits.
    private func removeStored(of userID: String) async throws(ExperimentationError) -> Int {
        let gate = await closeGate(of: userID)
        defer {
            openGate(gate, of: userID)
            purgedMeanwhile.insert(userID)
        }
        return try await store.purge(userID: userID)
    }

    private func closeGate(of userID: String) async -> OneShot {
        await waitForPurge(of: [userID])
        let gate = OneShot()
        beingPurged[userID] = gate
        return gate
    }

    private func openGate(_ gate: OneShot, of userID: String) {
        beingPurged[userID] = nil
        gate.open()
    }

    // MARK: Withdrawals

    /// Removes what waits and what is kept of a user who withdraws their consent, all that can be removed.
    ///
    /// That it is owed is written down first: what a store that fails or the end of the process leaves undone is done by a
    /// later delivery or the next run.
    ///
    /// - Parameters:
    ///   - userID: Whose.
    ///   - isDenied: As for ``purge(userID:isDenied:)``.
    /// - Throws: ``ErrorCode/store``, and it is still owed.
    func withdraw(
        userID: String,
        isDenied: @escaping @Sendable () -> Bool
    ) async throws(ExperimentationError) {
        await owe(userID, if: isDenied)
        var failure: ExperimentationError?
        do throws(ExperimentationError) {
            try await purge(userID: userID, isDenied: isDenied)
        } catch {
            failure = error
        }
        do throws(ExperimentationError) {
            try await kept.forget(userID: userID)
        } catch {
            failure = failure ?? error
        }
        guard let failure else { return try await endWithdrawal(of: userID) }
        // Unless somebody else came to the end of another one of theirs meanwhile, the note is there.
        if !owedWithdrawals.contains(userID) { await owe(userID, if: isDenied) }
        throw failure
    }

    private func owe(_ userID: String, if isDenied: @Sendable () -> Bool) async {
        // Who agrees again meanwhile waits, so that the note doesn't outlive that.
        let gate = await closeGate(of: userID)
        defer { openGate(gate, of: userID) }
        guard isDenied() else { return }
        owedWithdrawals.insert(userID)
        await kept.oweWithdrawal(of: userID)
    }

    /// Takes over a withdrawal that an earlier run didn't come to the end of.
    func takeOver(withdrawalOf userID: String) async {
        owedWithdrawals.insert(userID)
        deniedUsers.insert(userID)
        await followWithdrawals()
    }

    /// Tries what is still owed; until it succeeds, those events aren't sent either.
    func followWithdrawals() async {
        for userID in owedWithdrawals where deniedUsers.contains(userID) {
            do throws(ExperimentationError) {
                try await follow(userID)
            } catch {
                environment.log.log(.error, "outbox.store", "A withdrawal of consent can't be followed yet: \(error)")
            }
        }
    }

    /// Removes what a withdrawal left in the stores.
    func follow(_ userID: String) async throws(ExperimentationError) {
        _ = try await removeStored(of: userID)
        _ = forgetAhead(of: userID)
        try await kept.forget(userID: userID)
        try await endWithdrawal(of: userID)
    }

    /// Notes that nothing is owed to a user any more: it was done, or they agree again.
    func endWithdrawal(of userID: String) async throws(ExperimentationError) {
        guard owedWithdrawals.contains(userID) else { return }
        // One behind the other: what is noted meanwhile is noted after this.
        let gate = await closeGate(of: userID)
        defer { openGate(gate, of: userID) }
        try await kept.endWithdrawal(of: userID)
        owedWithdrawals.remove(userID)
    }

    /// Has events given back to the store that were leased and not sent, with the next round.
    private func giveBack(_ events: [Envelope]) {
        guard !events.isEmpty else { return }
        aside.append(backUntried(events))
        startSettling()
        waiting = max(waiting, 1)
        deliverWhenDue()
    }

    /// Removes the waiting events of all users, who go on as before.
    ///
    /// - Returns: How many events were removed.
    /// - Throws: ``ErrorCode/store``.
    func purgeAll() async throws(ExperimentationError) -> Int {
        await takeInNoted()
        var users: Set<String> = []
        var last: Int64 = 0
        while let end = try await collectUsers(after: last, into: &users) { last = end }
        var purged = 0
        for userID in users {
            let wasDenied = deniedUsers.contains(userID)
            // Whether it succeeds or not: they never said that they deny.
            defer { if !wasDenied { deniedUsers.remove(userID) } }
            purged += try await purge(userID: userID)
        }
        return purged
    }

    /// Waits until nothing of these users is being removed.
    func waitForPurge(of users: [String]) async {
        while let gate = users.lazy.compactMap({ self.beingPurged[$0] }).first { await gate.wait() }
    }

    private func collectUsers(
        after sequence: Int64,
        into users: inout Set<String>
    ) async throws(ExperimentationError) -> Int64? {
        let page = try await store.waiting(after: sequence, limit: 1_000)
        users.formUnion(page.map(\.envelope.identity.id))
        return page.last?.envelope.sequence
    }

    /// Takes a user's events out of what is leased and not yet sent.
    ///
    /// - Returns: What was taken out, in order.
    private func forgetAhead(of userID: String) -> [Envelope] {
        let taken = ahead.reversed().joined().filter { $0.identity.id == userID && !$0.event.isConsentSignal }
        if taken.isEmpty { return [] }
        forgotten.insert(userID)
        ahead = ahead.compactMap { batch in
            let rest = batch.filter { $0.identity.id != userID || $0.event.isConsentSignal }
            if rest.count == batch.count { return batch }
            // What is left is another batch than the one that was named.
            return rest.isEmpty ? nil : rest.map { $0.named(nil) }
        }
        return taken
    }
}
