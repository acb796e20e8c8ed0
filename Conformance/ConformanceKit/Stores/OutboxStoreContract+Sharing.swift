import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Several owners with one store open, and a store that is closed and reopened.
    static let sharing = [
        rule("sharing/seen", "what one writes the other sees at once", needs: [.shared]) { trial in
            let (one, two) = (trial.store, try await trial.opened())
            try await one.add("a1", owedTo: [.home, .away])
            trial.expect(try await two.ledger(), Ledger(accepted: 2, pending: 2))
            try await two.add("b1")
            try await one.add("c1", isHeld: true)
            trial.expect(try await one.ledger(of: .home), Ledger(accepted: 3, pending: 3))
            trial.expect(try await two.status(of: nil, now: start), try await one.status(of: nil, now: start))
            _ = try await two.setConsent([.granted("c"), .denied("b")])
            let lease = try await one.taken()
            trial.expect(lease.ids, ["a1", "c1"])
            trial.expect(try await one.add("b2"), [.consentDenied])
            try await one.settle(lease, ["a1": .delivered])
            trial.expect(try await two.ledger(of: .home), Ledger(accepted: 3, delivered: 1, pending: 1, purged: 1))
            trial.expect(try await two.ledger(of: .home), try await one.ledger(of: .home))
        },
        rule("sharing/lane", "two that deliver take turns, and none has what the other has", needs: [.shared]) {
            trial in
            let (one, two) = (trial.store, try await trial.opened())
            try await one.add("a1", "b1", owedTo: [.home, .away])
            let lease = try await one.taken(1)
            trial.expect(try await two.take(2), .busy(until: at(60)))
            let other = try await two.taken(2, of: .away)
            trial.expect(try await one.take(1, of: .away), .busy(until: at(60)))
            try await one.settle(lease, ["a1": .delivered])
            try await one.release(lease)
            let next = try await two.taken(2)
            trial.expect(next.ids, ["b1"])
            trial.expect(next.token.epoch > lease.token.epoch, true)
            trial.expect(try await one.isCurrent(lease.token), false)
            trial.expect(try await one.isCurrent(other.token), true)
            trial.expect(try await two.settleAll(next), true)
            trial.expect(try await two.settleAll(other), true)
        },
        rule("sharing/killed", "what one had that died is given to the other when the lease is over", needs: [.shared])
        {
            trial in
            let (one, two) = (trial.store, try await trial.opened())
            try await one.add("a1", "b1")
            let lease = try await one.taken(1)
            trial.expect(try await two.take(2, at: 59), .busy(until: at(60)))
            let next = try await two.taken(2, at: 60)
            trial.expect(next.ids, ["a1", "b1"])
            // The former holder wasn't dead, only slow.
            trial.expect(try await one.settle(lease, at: 61, ["a1": .delivered, "b1": .refused]), false)
            trial.expect(try await two.isCurrent(next.token), false)
            try await trial.expectLedger(Ledger(accepted: 2, delivered: 1, pending: 1))
        },
        rule("sharing/consent", "consent that one is told ends the other's round and binds both", needs: [.shared]) {
            trial in
            let (one, two) = (trial.store, try await trial.opened())
            try await one.add("a1", "b1")
            let lease = try await one.taken(1)
            trial.expect(try await two.setConsent([.denied("a")]), ConsentOutcome(removed: 1))
            trial.expect(try await one.isCurrent(lease.token), false)
            trial.expect(try await one.add("a2"), [.consentDenied])
            trial.expect(try await one.add([NewEvent("a3", grantsConsent: true)]), [nil])
            trial.expect(try await two.add("a4"), [nil])
            try await trial.expectLedger(Ledger(accepted: 4, pending: 3, purged: 1))
        },
        rule(
            "sharing/at-once",
            "two that accept and deliver at once lose nothing and count nothing twice",
            needs: [.shared]
        ) {
            trial in
            let stores = [trial.store, try await trial.opened()]
            let delivered = try await withThrowingTaskGroup(of: [String].self) { group in
                for (number, store) in stores.enumerated() {
                    group.addTask {
                        for step in 0..<100 { try await store.add(number == 0 ? "a\(step)" : "b\(step)") }
                        return []
                    }
                    group.addTask {
                        var ids: [String] = []
                        for _ in 0..<60 {
                            guard case .leased(let lease) = try await store.take(Int64(number + 1), count: 7) else {
                                continue
                            }
                            ids += lease.ids
                            try await store.settleAll(lease)
                            try await store.release(lease)
                        }
                        return ids
                    }
                }
                return try await group.reduce([]) { $0 + $1 }
            }
            trial.expect(Set(delivered).count, delivered.count)
            let ledger = try await stores[0].ledger()
            trial.expect(ledger, Ledger(accepted: 200, delivered: delivered.count, pending: 200 - delivered.count))
            trial.expect(try await stores[1].ledger(), ledger)
        },
        rule("durable/reopened", "closed and opened again, everything stands as it was", needs: [.durable]) { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1", owedTo: [.home, .away])
            try await store.add("d1", isHeld: true)
            _ = try await store.setConsent([.denied("c")])
            let lease = try await store.taken(1)
            try await store.settle(lease, ["a1": .again(50, attempts: 2)])
            let away = try await store.taken(1, of: .away)
            try await store.settle(away, ["a1": .refused])
            let pause = DeliveryPause(until: at(90), reason: "HTTP 503", through: 2)
            try await store.release(away.token, pause: pause, now: start)
            let ledgers = [try await store.ledger(of: .home), try await store.ledger(of: .away)]
            let waiting = try await store.waiting(after: 0, limit: 9)
            let next = try await trial.reopened()
            trial.expect([try await next.ledger(of: .home), try await next.ledger(of: .away)], ledgers)
            trial.expect(try await next.waiting(after: 0, limit: 9), waiting)
            trial.expect(try await next.destinations(), [.home, .away])
            trial.expect(try await next.add("c2"), [.consentDenied])
            trial.expect(try await next.take(2, of: .away), .paused(until: at(90)))
            // No other process has it open, so the former holders are gone.
            let again = try await next.taken(2)
            trial.expect(again.ids, ["b1"])
            trial.expect(again.token.epoch > lease.token.epoch, true)
            try await next.settle(lease, ["b1": .refused])
            trial.expect(try await next.taken(2, at: 50).ids, ["a1", "b1"])
        },
        rule(
            "durable/unclosed",
            "what was accepted and settled is there although the store was never closed",
            needs: [.durable]
        ) {
            trial in
            try await trial.store.add("a1", "b1", "c1", owedTo: [.home, .away])
            let lease = try await trial.store.taken(1, count: 1)
            try await trial.store.settleAll(lease)
            _ = try await trial.store.setConsent([.denied("c")])
            let store = try await trial.reopened(isClosed: false)
            try await trial.expectLedger(Ledger(accepted: 3, delivered: 1, pending: 1, purged: 1))
            trial.expect(try await store.add("c2"), [.consentDenied])
            // The dead process's lease has expired by then.
            let next = try await store.taken(2, at: 60)
            trial.expect(next.ids, ["b1"])
            trial.expect(next.token.epoch > lease.token.epoch, true)
            try await trial.expectAll(of: .away, at: 60, ["a1", "b1"])
        },
        rule("durable/numbers", "numbers aren't given twice, also when nothing was left", needs: [.durable]) { trial in
            try await trial.store.add("a1", "a2")
            let lease = try await trial.store.taken()
            let last = lease.batches.last?.last?.sequence ?? 0
            try await trial.store.settleAll(lease)
            let store = try await trial.reopened()
            try await store.add("a3")
            trial.expect(try await store.taken().first.sequence > last, true)
            try await trial.expectLedger(Ledger(accepted: 3, delivered: 2, pending: 1))
        },
    ]
}
