import Experimentation
import Foundation

extension OutboxStoreContract {
    /// A store that is full.
    static let room = [
        rule(
            "room/least-important",
            "a full outbox drops the oldest of the least important, whether held or not",
            size: StoreSize(maximumCount: 4)
        ) { trial in
            let store = trial.store
            for event in [
                NewEvent("a1", .view), NewEvent("a2", .purchase, isHeld: true), NewEvent("a3", .view, isHeld: true),
                NewEvent("a4"), NewEvent("a5"), NewEvent("a6", .purchase), NewEvent("a7", .purchase),
            ] { trial.expect(try await store.add([event]), [nil]) }
            trial.expect(store.overflowed, 3)
            _ = try await store.setConsent([.granted("a")])
            try await trial.expectAll(["a2", "a5", "a6", "a7"])
            try await trial.expectLedger(Ledger(accepted: 7, pending: 4, dropped: [.overflow: 3]))
        },
        rule(
            "room/one-call",
            "one call that is larger than the outbox leaves what many small ones would",
            size: StoreSize(maximumCount: 30)
        ) { trial in
            let store = trial.store
            let events = (0..<200).map { NewEvent("\($0)", $0 % 3 == 0 ? .purchase : .view) }
            trial.expect(try await store.add(events), Array(repeating: nil, count: 200))
            let left = stride(from: 0, to: 200, by: 3).suffix(30).map { "\($0)" }
            try await trial.expectAll(left)
            try await trial.expectLedger(Ledger(accepted: 200, pending: 30, dropped: [.overflow: 170]))
            trial.expect(store.overflowed, 170)
        },
        rule(
            "room/cheap-newcomer",
            "a full outbox of dear events drops a cheap newcomer, and counts it",
            size: StoreSize(maximumCount: 2)
        ) { trial in
            try await trial.store.add([NewEvent("a1", .purchase), NewEvent("a2", .purchase)])
            trial.expect(try await trial.store.add([NewEvent("a3", .view)]), [nil])
            try await trial.expectAll(["a1", "a2"])
            try await trial.expectLedger(Ledger(accepted: 3, pending: 2, dropped: [.overflow: 1]))
            trial.expect(trial.store.overflowed, 1)
        },
        rule(
            "room/in-hand",
            "what is in the hands of a live lease isn't dropped to make room; what a dead one had is",
            size: StoreSize(maximumCount: 2)
        ) { trial in
            let store = trial.store
            try await store.add("a1", "b1")
            let lease = try await store.taken(count: 1)
            try await store.add([NewEvent("c1"), NewEvent("d1")], at: 59)
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.envelope.id), ["a1", "d1"])
            trial.expect(store.overflowed, 2)
            trial.expect(try await store.isCurrent(lease.token), true)
            try await store.add([NewEvent("e1")], at: 60)
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.envelope.id), ["d1", "e1"])
            // Too late: it was dropped already.
            try await store.settle(lease, at: 61, ["a1": .delivered])
            try await trial.expectLedger(Ledger(accepted: 5, pending: 2, dropped: [.overflow: 3]))
            trial.expect(store.overflowed, 3)
        },
        rule(
            "room/held-in-between",
            "an event that a round passed over as held isn't in its hands",
            size: StoreSize(maximumCount: 3)
        ) { trial in
            let store = trial.store
            try await store.add("a1", isHeld: true)
            try await store.add("b1", "c1")
            _ = try await store.taken()
            try await store.add("d1")
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.envelope.id), ["b1", "c1", "d1"])
        },
        rule(
            "room/all-in-hand",
            "an outbox whose events are all in hand takes one more, and drops the newcomer if it must",
            size: StoreSize(maximumCount: 2)
        ) { trial in
            let store = trial.store
            try await store.add([NewEvent("a1", .view), NewEvent("b1", .view)])
            let lease = try await store.taken()
            try await store.add([NewEvent("c1", .purchase)])
            try await trial.expectLedger(Ledger(accepted: 3, pending: 2, dropped: [.overflow: 1]))
            trial.expect(try await store.settleAll(lease), true)
            try await trial.expectLedger(Ledger(accepted: 3, delivered: 2, dropped: [.overflow: 1]))
        },
        rule(
            "room/destinations",
            "what makes room is counted at each destination that hadn't got it, and spared if one has it in hand",
            size: StoreSize(maximumCount: 2)
        ) { trial in
            let store = trial.store
            try await store.add("a1", "b1", owedTo: [.home, .away])
            let away = try await store.taken(of: .away, count: 1)
            try await store.settleAll(away)
            try await store.add("c1")
            try await trial.expectLedger(Ledger(accepted: 3, pending: 2, dropped: [.overflow: 1]))
            try await trial.expectLedger(of: .away, Ledger(accepted: 2, delivered: 1, pending: 1))
            trial.expect(store.overflowed, 1)
            _ = try await store.taken(of: .away)
            try await store.add("d1")
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.envelope.id), ["b1", "d1"])
        },
    ]

    /// Clocks that jump.
    static let clocks = [
        rule("clocks/corrected", "a clock that is corrected by a second ends no wait and no lease") { trial in
            let store = trial.store
            try await store.add("a1", "b1")
            let lease = try await store.taken(1)
            try await store.settle(lease, ["a1": .again(300)])
            trial.expect(try await store.take(2, at: -1), .busy(until: at(60)))
            try await store.release(lease)
            try await trial.expectAll(at: -1, ["b1"])
        },
        rule("clocks/set-back", "a clock that was years ahead leaves no wait, no lease and no pause behind") { trial in
            let store = trial.store
            let ahead = 3_650 * 86_400.0
            try await store.add("a1", "b1")
            let lease = try await store.taken(1, at: ahead)
            try await store.settle(lease, at: ahead, ["a1": .again(ahead + 300)])
            let taken = try await store.taken(2)
            trial.expect(taken.ids, ["a1", "b1"])
            let pause = DeliveryPause(until: at(ahead + 300), reason: "HTTP 503", through: 0)
            try await store.release(taken.token, pause: pause, now: at(ahead))
            trial.expect(try await store.taken(3).ids, ["a1", "b1"])
        },
        rule("clocks/set-ahead", "a clock that is set ahead ends leases and waits, and gives everything once") {
            trial in
            let store = trial.store
            let ahead = 3_650 * 86_400.0
            try await store.add("a1", "b1")
            let lease = try await store.taken(1)
            try await store.settle(lease, ["a1": .again(300)])
            let taken = try await store.taken(2, at: ahead)
            trial.expect(taken.ids, ["a1", "b1"])
            trial.expect(try await store.settleAll(taken, at: ahead), true)
            try await trial.expectLedger(Ledger(accepted: 2, delivered: 2))
        },
        rule("clocks/endless", "no wait and no lease is longer than a week") { trial in
            let store = trial.store
            try await store.add("a1", "b1")
            let lease = try await store.taken(1, until: 1e12)
            trial.expect(try await store.taken(2).ids, ["a1", "b1"])
            let again = try await store.taken(2)
            try await store.settle(again, ["a1": .again(1e12)])
            try await store.release(
                again.token,
                pause: DeliveryPause(until: at(1e12), reason: "", through: 0),
                now: start
            )
            trial.expect(try await store.taken(3).ids, ["a1", "b1"])
            trial.expect(try await store.isCurrent(lease.token), false)
        },
    ]
}
