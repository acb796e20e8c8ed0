import Experimentation
import Foundation
import Synchronization

/// An outbox with a planted fault.
final class BentOutbox: OutboxStoreDecorator {
    enum Change {
        /// Acknowledges an event before it is stored; a kill in between loses it.
        case acknowledgesBeforeCommit
        /// Silently discards events that should be retried.
        case wipesOnRetry
        /// Counts events as purged but keeps them.
        case ignoresPurge
        /// Doesn't hold events that wait for consent.
        case ignoresHolding
        /// Counts one event too many.
        case miscounts
        /// Reports the totals as each destination's status.
        case mixesAccounts
        /// Replaces the event's time with the time of storing.
        case restamps
        /// Never releases held events.
        case neverReleases
    }

    let base: any OutboxStore
    private let change: Change
    private let volatile = Mutex<[NewEvent]>([])

    init(base: any OutboxStore, change: Change) {
        self.base = base
        self.change = change
    }

    func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        var events = events
        switch change {
        case .acknowledgesBeforeCommit:
            // Written only with the next lease; another store on the same file doesn't see it.
            volatile.withLock { $0 += events }
            return events.map { _ in nil }
        case .ignoresHolding:
            for index in events.indices {
                for place in events[index].deliveries.indices { events[index].deliveries[place].isHeld = false }
            }
        case .restamps:
            events = events.map { event in
                var envelope = event.envelope
                envelope.date += 3_600
                return NewEvent(envelope, owedTo: event.deliveries, grantsConsent: event.grantsConsent)
            }
        default: break
        }
        return try await base.append(events, now: now)
    }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        if case .acknowledgesBeforeCommit = change {
            let waiting = volatile.withLock { volatile in
                defer { volatile = [] }
                return volatile
            }
            // An hour later counts as another process, which has lost whatever wasn't written.
            let left = waiting.filter { request.now.timeIntervalSince($0.envelope.date) <= 300 }
            if !left.isEmpty { _ = try await base.append(left, now: request.now) }
        }
        return try await base.lease(request)
    }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        guard case .wipesOnRetry = change else { return try await base.settle(settlements, under: token, now: now) }
        let settlements = settlements.map { settlement in
            guard case .retry = settlement.outcome else { return settlement }
            return Settlement(id: settlement.id, sequence: settlement.sequence, .delivered)
        }
        return try await base.settle(settlements, under: token, now: now)
    }

    func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        if case .wipesOnRetry = change, let pause {
            // Events without an answer aren't settled but wait, and are wiped here.
            let waiting = try await base.waiting(after: 0, limit: 1_000).map(\.envelope)
            let tried = waiting.filter { $0.sequence <= pause.through }.map { Settlement(of: $0, .delivered) }
            _ = try await base.settle(tried, under: token, now: now)
        }
        try await base.release(token, pause: pause, now: now)
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        let changes = changes.filter { consent in
            switch change {
            case .neverReleases: !consent.isGranted
            case .ignoresPurge: consent.isGranted
            default: true
            }
        }
        return try await base.setConsent(changes)
    }

    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        if case .mixesAccounts = change { return try await base.ledger(of: nil) }
        var ledger = try await base.ledger(of: destination)
        if case .miscounts = change, ledger.delivered > 0 { ledger.accepted += 1 }
        return ledger
    }
}
