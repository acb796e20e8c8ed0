import Foundation
import Synchronization

/// An outbox that lives as long as the process: bounded, ordered and with an exact ledger, but lost with a crash.
public final class InMemoryOutboxStore: OutboxStore {
    private let rows: Mutex<OutboxRows>
    private let maximumEventBytes: Int

    /// Creates an empty outbox.
    ///
    /// - Parameters:
    ///   - maximumCount: How many events may wait; by default as many as fit.
    ///   - maximumBytes: The maximum size of the waiting events' written forms, about 400 bytes each. In memory they
    ///     take about three times as much, and up to half as much again for events that are already gone.
    ///   - maximumEventBytes: The maximum size of one event.
    public init(maximumCount: Int = .max, maximumBytes: Int = 100_000_000, maximumEventBytes: Int = 32_768) {
        rows = Mutex(OutboxRows(maximumCount: maximumCount, maximumBytes: maximumBytes))
        self.maximumEventBytes = maximumEventBytes
    }

    /// Accepts events, in order.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let sizes = events.map { event in
            Result { () throws(ExperimentationError) in
                try event.stored(limit: maximumEventBytes).count
            }
        }
        return rows.withLock { rows in
            let refusals = zip(events, sizes).map { event, size -> ExperimentationError? in
                switch size {
                case .success(let size): return rows.append(event, bytes: size)
                case .failure(let error):
                    if event.grantsConsent { rows.grant(event.envelope.identity.id) }
                    return error
                }
            }
            rows.makeRoom(now: now)
            return refusals
        }
    }

    /// Carries out changes of consent.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        rows.withLock { rows in
            var outcome = ConsentOutcome()
            for change in changes {
                if change.isGranted {
                    outcome.released += rows.grant(change.userID)
                } else {
                    outcome.removed += rows.deny(change.userID)
                }
            }
            return outcome
        }
    }

    /// Takes a destination's lane and its next batches.
    public func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        rows.withLock { $0.lease(request) }
    }

    /// Returns whether leased events may still be sent.
    public func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        rows.withLock { $0.lane(of: token.destination).isCurrent(token) }
    }

    /// Records the outcomes of leased events.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        rows.withLock { $0.settle(settlements, under: token, now: now) }
    }

    /// Releases a lane.
    public func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        rows.withLock { rows in rows.changeLane(of: token.destination) { $0.release(token, pause: pause, now: now) } }
    }

    /// Drops unleased deliveries older than a date.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        rows.withLock { $0.expire(before: date, owedTo: destination, now: now) }
    }

    /// Removes everything that is owed to a destination.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        rows.withLock { $0.remove(owedTo: destination, as: account) }
    }

    /// The number of deliveries dropped to make room.
    public var overflowed: Int { rows.withLock { $0.overflowed } }

    /// The destinations that this store has ledgers of.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        rows.withLock { $0.lanes.map(\.destination) }
    }

    /// What waits.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        rows.withLock { $0.status(of: destination, now: now) }
    }

    /// The ledger.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        rows.withLock { $0.ledger(of: destination) }
    }

    /// A page of the waiting events, oldest first.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        rows.withLock { $0.waiting(after: sequence, limit: limit) }
    }

    /// Returns at once: memory keeps no trace of what was removed.
    public func finishErasing() async throws(ExperimentationError) {}
}
