/// Inspecting and removing waiting events.
extension Outbox {
    var destinations: [Destination] { routes.map(\.destination) }

    /// The ledger, once every earlier statement has been stored.
    func ledger() async throws(ExperimentationError) -> Ledger {
        await intake.drain()
        var sum = Ledger()
        for destination in destinations { sum = sum + (try await store.ledger(of: destination)) }
        return sum
    }

    /// The ledger of each destination in the store, once every earlier statement has been stored.
    func ledgers() async throws(ExperimentationError) -> [Destination: Ledger] {
        await intake.drain()
        var ledgers: [Destination: Ledger] = [:]
        for destination in try await store.destinations() {
            ledgers[destination] = try await store.ledger(of: destination)
        }
        return ledgers
    }

    /// Drops what is owed to a destination.
    ///
    /// - Returns: How many deliveries were dropped.
    /// - Throws: ``ErrorCode/store``.
    func drop(owedTo destination: Destination) async throws(ExperimentationError) -> Int {
        await intake.drain()
        let dropped = try await store.remove(owedTo: destination, as: .dropped(.closed))
        for deliverer in deliverers where deliverer.destination == destination { await deliverer.withdrawAll() }
        return dropped
    }

    /// The status of what waits, once every earlier statement has been stored.
    func status() async throws(ExperimentationError) -> OutboxStatus {
        await intake.drain()
        var sum = OutboxStatus()
        for destination in destinations {
            sum.add(try await store.status(of: destination, now: environment.time.now))
        }
        return sum
    }

    /// The waiting events, once every earlier statement has been stored.
    func waitingEvents(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        await intake.drain()
        return try await store.waiting(after: sequence, limit: limit)
    }

    /// Removes the waiting events of all users, whose consent is unaffected.
    ///
    /// - Returns: How many deliveries were removed.
    /// - Throws: ``ErrorCode/store``.
    func removeAll() async throws(ExperimentationError) -> Int {
        await intake.drain()
        var removed = 0
        for deliverer in deliverers {
            // Remove before interrupting: an interrupted delivery starts again with what is still stored. What the
            // vendor has taken counts as delivered if that is recorded in time, else as purged like the rest.
            removed += try await store.remove(owedTo: deliverer.destination, as: .purged)
            await deliverer.withdrawAll()
        }
        return removed
    }
}

extension OutboxStatus {
    /// Adds what waits for another destination.
    mutating func add(_ other: OutboxStatus) {
        ready += other.ready
        held += other.held
        delayed += other.delayed
        leased += other.leased
        bytes += other.bytes
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        nextAttempt = [nextAttempt, other.nextAttempt].compactMap(\.self).min()
        failures.merge(other.failures, uniquingKeysWith: +)
    }
}
