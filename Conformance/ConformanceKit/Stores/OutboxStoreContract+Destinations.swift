import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Several destinations of one store.
    static let destinations = [
        rule("destinations/own", "each destination has its own lane, attempts, pause and accounts") { trial in
            let store = trial.store
            try await store.add("a1", "b1", owedTo: [.home, .away])
            let home = try await store.taken(1)
            let away = try await store.taken(2, of: .away)
            trial.expect([home.ids, away.ids], [["a1", "b1"], ["a1", "b1"]])
            try await store.settle(home, ["a1": .again(50, attempts: 3), "b1": .refused])
            trial.expect(try await store.settle(away, ["a1": .delivered]), true)
            try await store.release(
                home.token,
                pause: DeliveryPause(until: at(90), reason: "HTTP 503", through: 2),
                now: start
            )
            trial.expect(try await store.take(1), .paused(until: at(90)))
            trial.expect(try await store.take(1, of: .away), .busy(until: at(60)))
            trial.expect(try await store.taken(2, of: .away).ids, ["b1"])
            try await trial.expectLedger(Ledger(accepted: 2, pending: 1, dropped: [.rejected: 1]))
            try await trial.expectLedger(of: .away, Ledger(accepted: 2, delivered: 1, pending: 1))
            trial.expect(
                try await store.ledger(),
                Ledger(accepted: 4, delivered: 1, pending: 2, dropped: [.rejected: 1])
            )
            trial.expect(try await store.status(of: .away, now: start).failures, [:])
        },
        rule("destinations/apart", "what is owed to one is never given to another, and counts with none") { trial in
            let store = trial.store
            try await store.add([
                NewEvent("a1"), NewEvent("a2", owedTo: [.away]), NewEvent("a3", owedTo: [.third]),
                NewEvent("a4", owedTo: [.home, .third]),
            ])
            for (destination, ids) in [(Destination.home, ["a1", "a4"]), (.away, ["a2"]), (.third, ["a3", "a4"])] {
                let lease = try await store.taken(of: destination)
                trial.expect(lease.ids, ids)
                try await store.settleAll(lease)
                try await trial.expectLedger(of: destination, Ledger(accepted: ids.count, delivered: ids.count))
            }
            trial.expect(try await store.destinations(), [.home, .away, .third])
        },
        rule("destinations/body", "an event is kept until the last destination is done with it") { trial in
            let destinations: [Destination] = [.home, .away, .third]
            for last in destinations {
                let store = trial.store
                try await store.add([NewEvent("a1", owedTo: destinations, at: 7)])
                let whole = try await store.status(of: nil, now: start).bytes
                for destination in destinations where destination != last {
                    let lease = try await store.taken(of: destination)
                    try await store.settleAll(lease)
                }
                trial.expect(try await store.status(of: nil, now: start).bytes, whole)
                let waiting = try await store.waiting(after: 0, limit: 9)
                trial.expect(waiting.map(\.deliveries), [[.init(to: last)]])
                let lease = try await store.taken(of: last)
                trial.expect(lease.batches.joined().map(\.date), [at(7)])
                try await store.settleAll(lease)
                trial.expect(try await store.status(of: nil, now: start), OutboxStatus())
                trial.expect(try await store.waiting(after: 0, limit: 9), [])
            }
        },
        rule("destinations/settled-apart", "settling and dropping at one leaves the other's events alone") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1", owedTo: [.home, .away])
            let lease = try await store.taken()
            try await store.settle(lease, ["a1": .delivered, "b1": .refused, "c1": .again(40)])
            try await trial.expectAll(of: .away, ["a1", "b1", "c1"])
            trial.expect(try await store.expire(before: at(1), owedTo: .home, now: at(60)), 1)
            try await trial.expectAll(of: .away, ["a1", "b1", "c1"])
        },
        rule("destinations/sum", "what is told of all together is the sum; bytes and age are the events'") { trial in
            let store = trial.store
            try await store.add([
                NewEvent("a1", owedTo: [.away], at: 9), NewEvent("b1", owedTo: [.home, .away], at: 4),
                NewEvent("c1", at: 2),
            ])
            let all = try await store.status(of: nil, now: start)
            let home = try await store.status(of: .home, now: start)
            let away = try await store.status(of: .away, now: start)
            trial.expect([all.ready, home.ready, away.ready], [4, 2, 2])
            trial.expect([all.oldest, home.oldest, away.oldest], [at(9), at(4), at(9)])
            // b1's bytes count for each destination, but only once in the total.
            trial.expect(home.bytes + away.bytes > all.bytes && all.bytes > max(home.bytes, away.bytes), true)
        },
        rule("destinations/removed", "all that is owed to one is removed as asked: purged but for signals, or dropped")
        { trial in
            let table: [(RemovalAccount, Int, Ledger)] = [
                (.purged, 2, Ledger(accepted: 3, pending: 1, purged: 2)),
                (.dropped(.closed), 3, Ledger(accepted: 3, dropped: [.closed: 3])),
            ]
            for (index, (account, removed, ledger)) in table.enumerated() {
                let store = trial.store
                let gone = Destination(provider: "gone", scope: "\(index)")
                try await store.add([
                    NewEvent("a1", owedTo: [gone, .home]), NewEvent("b1", owedTo: [gone], isHeld: true),
                    NewEvent("c1", .consent(false), owedTo: [gone]),
                ])
                let lease = try await store.taken(of: gone)
                trial.expect(try await store.remove(owedTo: gone, as: account), removed)
                trial.expect(try await store.isCurrent(lease.token), false)
                try await trial.expectLedger(of: gone, ledger)
                trial.expect(try await store.remove(owedTo: gone, as: account), 0)
                // A removed destination accepts events again, and the other one has lost nothing.
                trial.expect(try await store.add([NewEvent("a2", owedTo: [gone])]), [nil])
            }
            try await trial.expectAll(["a1", "a1"])
        },
    ]
}
