import Experimentation

extension Probe {
    /// Tracks an event.
    public func track(_ event: TrackingEvent, in session: UserSession) async throws {
        note("track \(event.type) for \(session.user.id)")
        try await session.track(event)
    }

    /// Delivers what can be delivered now.
    @discardableResult
    public func flush(within limit: Duration = .seconds(5)) async throws -> Bool {
        note("flush")
        return try await client().flush(within: limit).isDone
    }

    /// Has everything that waits tried once, and waits until it has been; what fails isn't tried again here.
    ///
    /// - Parameter limit: How long to wait for the vendor at most.
    /// - Throws: When the store fails.
    public func tryOnce(within limit: Duration = .seconds(2)) async throws {
        note("try once")
        _ = try await client().flush(within: limit, retrying: false)
    }

    /// Pushes time and delivers until nothing waits but what is held, for at most some rounds.
    ///
    /// - Parameters:
    ///   - rounds: How often to push at most.
    ///   - step: How far each time.
    /// - Returns: The ledger at the end.
    /// - Throws: When the store fails.
    @discardableResult
    public func deliverAll(rounds: Int = 8, pushing step: Duration = .seconds(120)) async throws -> Ledger {
        note("deliver all that waits")
        let client = try await client()
        for _ in 0..<rounds {
            _ = try await client.flush(within: .seconds(5), retrying: false)
            let status = try await client.outboxStatus()
            if status.ready + status.delayed + status.leased == 0 { break }
            time.push(by: step)
        }
        return try await stage.ledger(of: client)
    }

    /// How long the client waits before it tries again what has failed since a moment.
    ///
    /// - Parameter moment: A moment before the failure, by ``time``.
    /// - Returns: The wait, once it has begun.
    /// - Throws: When the case is cancelled.
    public func waitBeforeNextAttempt(since moment: ContinuousClock.Instant) async throws -> Duration {
        var wait: Duration?
        try await eventually("the client waits before its next attempt") {
            // What is polled sleeps longer, and may have begun to before the delivery has failed.
            wait = time.sleeps(begunSince: moment).first { $0 < .seconds(45) }
            return wait != nil
        }
        return wait ?? .zero
    }

    /// The accounts.
    public func ledger() async throws -> Ledger { try await stage.ledger(of: client()) }
}
