import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Operations that fail before or after they take effect, and are retried.
    static let faults: [StoreCase<any OutboxStore>] = FaultMoment.allCases.flatMap { moment in
        let operations: [StoreOperation] = [
            .append, .setConsent, .lease, .isCurrent, .settle, .release, .expire, .remove, .destinations, .status,
            .ledger,
            .waiting,
        ]
        return operations.map { operation in
            rule(
                "faults/\(operation.rawValue)-\(moment.rawValue)",
                "\(operation.rawValue) fails \(moment.rawValue) it is done and is tried again: nothing is lost or counted twice"
            ) { trial in
                let base = trial.store
                let store = FaultyStore(ClientStore(outbox: base, state: InMemoryStateStore()), operation, moment)
                // The one exception: events whose acceptance took effect but threw are accepted again by the retry.
                let twice = operation == .append && moment == .after
                try await play(on: store, trial, accepted: twice ? 2 : 1)
            }
        }
    }

    /// Accepts, denies, delivers, rejects, expires and removes, repeating each operation that fails.
    private static func play(
        on store: FaultyStore,
        _ trial: StoreTrial<any OutboxStore>,
        accepted times: Int
    ) async throws {
        for events in [
            [NewEvent("a1"), NewEvent("b1", owedTo: [.home, .away]), NewEvent("c1"), NewEvent("d1")],
            [NewEvent("e1", isHeld: true), NewEvent("f1", at: -100), NewEvent("g1", owedTo: [.third])],
        ] { trial.expect(try await again { try await store.add(events) }, Array(repeating: nil, count: events.count)) }
        _ = try await again { try await store.setConsent([.denied("a"), .granted("e")]) }
        trial.expect(
            try await again { try await store.expire(before: at(-1), owedTo: .home, now: start) } <= times,
            true
        )
        _ = try await again { try await store.remove(owedTo: .third, as: .dropped(.closed)) }
        let lease = try await again { try await store.taken() }
        trial.expect(lease.ids.sorted(), ["b1", "c1", "d1", "e1"].flatMap { Array(repeating: $0, count: times) })
        trial.expect(try await again { try await store.isCurrent(lease.token) }, true)
        let settlements = lease.batches.joined().map { envelope -> Settlement in
            switch envelope.id {
            case "b1": Settlement(of: envelope, .delivered)
            case "c1": Settlement(of: envelope, .refused)
            default: Settlement(of: envelope, .again(30))
            }
        }
        let isCurrent = try await again { try await store.settle(settlements, under: lease.token, now: start) }
        trial.expect(isCurrent, true)
        let pause = DeliveryPause(until: at(20), reason: "HTTP 503", through: 0)
        try await again { try await store.release(lease.token, pause: pause, now: start) }
        trial.expect(try await again { try await store.take(2) }, .paused(until: at(20)))
        let status = try await again { try await store.status(of: .home, now: at(20)) }
        trial.expect([status.ready, status.delayed], [0, 2 * times])
        let home = Ledger(
            accepted: 6 * times,
            delivered: times,
            pending: 2 * times,
            purged: times,
            dropped: [.rejected: times, .expired: times]
        )
        trial.expect(try await again { try await store.ledger(of: .home) }, home)
        trial.expect(try await again { try await store.ledger(of: .away) }, Ledger(accepted: times, pending: times))
        let third = Ledger(accepted: times, dropped: [.closed: times])
        trial.expect(try await again { try await store.ledger(of: .third) }, third)
        trial.expect(try await again { try await store.destinations() }, [.home, .away, .third])
        let waiting = try await again { try await store.waiting(after: 0, limit: 99) }
        trial.expect(
            waiting.map(\.envelope.id).sorted(),
            ["b1", "d1", "e1"].flatMap { Array(repeating: $0, count: times) }
        )
        trial.expect(try await again { try await store.add("a2") }, [.consentDenied])
    }
}
