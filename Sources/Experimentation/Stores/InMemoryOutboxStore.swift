import Foundation
import Synchronization

/// An outbox that lives as long as the process: bounded, ordered, with exact accounts, but lost with a crash.
public final class InMemoryOutboxStore: OutboxStore {
    private let rows: Mutex<OutboxRows>
    private let maximumEventBytes: Int

    /// Creates an empty outbox.
    ///
    /// - Parameters:
    ///   - maximumCount: How many events wait at most; as many as fit unless a number is given.
    ///   - maximumBytes: How many bytes their written forms take at most, about 400 each; in memory they take some three
    ///     times as many.
    ///   - maximumEventBytes: How large one event may be.
    public init(maximumCount: Int = .max, maximumBytes: Int = 100_000_000, maximumEventBytes: Int = 32_768) {
        rows = Mutex(OutboxRows(maximumCount: maximumCount, maximumBytes: maximumBytes))
        self.maximumEventBytes = maximumEventBytes
    }

    /// Accepts events, in their order.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        let sizes = events.map { event in
            Result { () throws(ExperimentationError) in
                try EnvelopeCoding.size(of: event.envelope, limit: maximumEventBytes)
            }
        }
        return rows.withLock { rows in
            let refusals = zip(events, sizes).map { event, size -> ExperimentationError? in
                switch size {
                case .success(let size): rows.append(event, bytes: size)
                case .failure(let error): error
                }
            }
            rows.makeRoom(now: now)
            return refusals
        }
    }

    /// Carries out what users say of being tracked.
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

    /// Tells whether what was leased may still be sent.
    public func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        rows.withLock { $0.lane(of: token.destination).isCurrent(token) }
    }

    /// Writes down what became of leased events.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        rows.withLock { $0.settle(settlements, under: token, now: now) }
    }

    /// Lets go of a lane.
    public func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        rows.withLock { rows in rows.changeLane(of: token.destination) { $0.release(token, pause: pause, now: now) } }
    }

    /// Drops what is older than a moment and not leased.
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

    /// How many deliveries were given up to make room.
    public var overflowed: Int { rows.withLock { $0.overflowed } }

    /// The destinations that this store has accounts of.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        rows.withLock { $0.lanes.map(\.destination) }
    }

    /// What waits.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        rows.withLock { $0.status(of: destination, now: now) }
    }

    /// The accounts.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        rows.withLock { $0.ledger(of: destination) }
    }

    /// The events that wait, oldest first, page by page.
    public func waiting(
        after sequence: Int64 = 0,
        limit: Int = 1_000
    ) async throws(ExperimentationError) -> [WaitingEvent] {
        rows.withLock { $0.waiting(after: sequence, limit: limit) }
    }

    /// Returns at once: nothing is left of what was removed.
    public func finishErasing() async throws(ExperimentationError) {}
}
