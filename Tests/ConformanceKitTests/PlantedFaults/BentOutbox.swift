import Experimentation
import Foundation
import Synchronization

/// An outbox with something wrong on purpose.
final class BentOutbox: ForwardingOutbox {
    enum Change {
        /// Says that it has an event before it does: a kill in between loses it.
        case acknowledgesBeforeCommit
        /// Gives up whatever should be tried again, without a word.
        case wipesOnRetry
        /// Counts what should be purged and keeps it.
        case ignoresPurge
        /// Doesn't hold what waits for consent.
        case ignoresHolding
        /// Counts one event too many.
        case miscounts
        /// Keeps the time of storing in place of the time of the event.
        case restamps
        /// Forgets to let go of what was held.
        case neverReleases
    }

    let inner: any OutboxStore
    private let change: Change
    private let volatile = Mutex<[(envelopes: [Envelope], isHeld: Bool)]>([])

    init(inner: any OutboxStore, change: Change) {
        self.inner = inner
        self.change = change
    }

    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        switch change {
        case .acknowledgesBeforeCommit:
            // Written with the next lease only; whoever opens the store anew finds nothing.
            volatile.withLock { $0.append((envelopes, isHeld)) }
        case .ignoresHolding: try await inner.append(envelopes, isHeld: false)
        case .restamps:
            let stamped = envelopes.map { envelope in
                var envelope = envelope
                envelope.date += 3_600
                return envelope
            }
            try await inner.append(stamped, isHeld: isHeld)
        default: try await inner.append(envelopes, isHeld: isHeld)
        }
    }

    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        if case .acknowledgesBeforeCommit = change {
            let waiting = volatile.withLock { volatile in
                defer { volatile = [] }
                return volatile
            }
            // An hour later it is another process, and what wasn't written is lost.
            for entry in waiting
            where !entry.envelopes.contains(where: { wanted.now.timeIntervalSince($0.date) > 300 }) {
                try await inner.append(entry.envelopes, isHeld: entry.isHeld)
            }
        }
        return try await inner.lease(wanted)
    }

    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        guard case .wipesOnRetry = change else { return try await inner.settle(settlements) }
        try await inner.settle(
            settlements.map { settlement in
                if case .retry(let id, _, _, _) = settlement { return .delivered(id: id) }
                return settlement
            }
        )
    }

    func release(userID: String) async throws(ExperimentationError) {
        if case .neverReleases = change { return }
        try await inner.release(userID: userID)
    }

    func purge(userID: String) async throws(ExperimentationError) -> Int {
        if case .ignoresPurge = change { return 0 }
        return try await inner.purge(userID: userID)
    }

    func ledger() async throws(ExperimentationError) -> Ledger {
        var ledger = try await inner.ledger()
        if case .miscounts = change, ledger.delivered > 0 { ledger.accepted += 1 }
        return ledger
    }
}
