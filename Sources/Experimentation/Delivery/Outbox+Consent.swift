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
        let gate = OneShot()
        beingPurged[userID] = gate
        defer {
            beingPurged[userID] = nil
            gate.open()
            // What was being leased when the purge began has come since, or is still to come.
            leased += forgetAhead(of: userID)
            purgedMeanwhile.insert(userID)
        }
        let removed = try await store.purge(userID: userID)
        isRemoved = true
        return removed
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
