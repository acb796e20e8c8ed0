import Experimentation

extension Probe {
    /// Tracks an event.
    public func track(_ event: TrackingEvent, in session: UserSession) async throws {
        note("track \(event.type) for \(session.user.id)")
        try await session.track(event)
    }

    /// Delivers everything that can be delivered now.
    @discardableResult
    public func flush(within limit: Duration = .seconds(5)) async throws -> Bool {
        note("flush")
        return try await client().flush(within: limit).isDone
    }

    /// Makes one attempt at everything that waits, without retries, and waits for it to end.
    ///
    /// - Parameter limit: The maximum time to wait for the vendor.
    /// - Throws: When the store fails.
    public func tryOnce(within limit: Duration = .seconds(2)) async throws {
        note("try once")
        _ = try await client().flush(within: limit, retrying: false)
    }

    /// Alternates between delivering and pushing time until only held events are left.
    ///
    /// - Parameters:
    ///   - rounds: The maximum number of rounds.
    ///   - step: How far to push time in each round.
    /// - Returns: The ledger at the end.
    /// - Throws: When the store fails.
    @discardableResult
    public func deliverAll(rounds: Int = 8, pushing step: Duration = .seconds(120)) async throws -> Ledger {
        note("deliver all that waits")
        let client = try await client()
        for _ in 0..<rounds {
            _ = try await client.flush(within: .seconds(5), retrying: false)
            // Of several vendors, only the watched one counts: events that wait for another are no reason to push time.
            if try await stage.ledger(of: client).pending == 0 { break }
            let status = try await client.outboxStatus()
            if status.ready + status.delayed + status.leased == 0 { break }
            time.push(by: step)
        }
        return try await stage.ledger(of: client)
    }

    /// Returns how long the client waits before it retries.
    ///
    /// - Parameter moment: A moment before the failure, by ``time``.
    /// - Returns: The wait, once it has begun.
    /// - Throws: When the case is cancelled.
    public func waitBeforeNextAttempt(since moment: ContinuousClock.Instant) async throws -> Duration {
        var wait: Duration?
        try await eventually("the client waits before its next attempt") {
            // Polling waits longer, and may have begun before the delivery failed.
            wait = time.sleeps(begunSince: moment).first { $0 < .seconds(45) }
            return wait != nil
        }
        return wait ?? .zero
    }

    /// The ledger with this vendor.
    public func ledger() async throws -> Ledger { try await stage.ledger(of: client()) }
}
