import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Which events a lease contains, and in which order.
    static let delivering = [
        rule("delivering/batches", "batches hold no more events than asked for, oldest first") { trial in
            try await trial.store.add("a1", "a2", "b1", "a3", "b2")
            let lease = try await trial.store.taken(batches: 2, count: 2)
            trial.expect(lease.batches.map { $0.map(\.id) }, [["a1", "a2"], ["b1", "a3"]])
            let more = try await trial.store.taken(batches: 2, count: 2, behind: lease.token)
            trial.expect(more.batches.map { $0.map(\.id) }, [["b2"]])
            trial.expect(try await trial.store.taken(behind: lease.token).batches, [])
        },
        rule("delivering/bytes", "a batch holds no more bytes than asked for, but always one event") { trial in
            try await trial.store.add("a1", "a2", "a3")
            let each = try await trial.store.status(of: nil, now: start).bytes / 3
            for (bytes, expected) in [
                (1, [["a1"], ["a2"], ["a3"]]), (each * 2, [["a1", "a2"], ["a3"]]),
                (each * 3 - 1, [["a1", "a2"], ["a3"]]),
                (each * 3, [["a1", "a2", "a3"]]),
            ] {
                let lease = try await trial.store.taken(batches: 9, bytes: bytes)
                trial.expect(lease.batches.map { $0.map(\.id) }, expected)
            }
        },
        rule("delivering/waits", "a user's later events wait behind one that may not be tried yet; others don't") {
            trial in
            let store = trial.store
            try await store.add("a1", "b1", "a2")
            let lease = try await store.taken()
            try await store.settle(lease, ["a1": .again(5)])
            try await store.release(lease)
            try await trial.expectAll(at: 4.9, ["b1"])
            let again = try await store.taken(at: 5)
            trial.expect(again.ids, ["a1", "b1", "a2"])
            trial.expect(again.batches.joined().map(\.attempts), [1, 0, 0])
        },
        rule("delivering/next-attempt", "what only waits leaves the lane free, and says until when") { trial in
            let store = trial.store
            try await store.add("a1", "a2", "b1")
            let lease = try await store.taken()
            try await store.settle(lease, ["a1": .again(30), "b1": .again(20)])
            trial.expect(try await store.take(1), .nothing(until: at(20)))
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.take(2, at: 10), .nothing(until: at(20)))
            let status = try await store.status(of: .home, now: at(10))
            trial.expect([status.ready, status.delayed, status.leased], [1, 2, 0])
            trial.expect(status.nextAttempt, at(20))
            try await trial.expectAll(owner: 2, at: 20, ["b1"])
            try await trial.expectAll(at: 30, ["a1", "a2", "b1"])
        },
        rule("delivering/rest", "a lease that says what follows its last batch is right") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1")
            trial.expect(try await store.taken(count: 2).isSaidToBeLast, false)
            let all = try await store.taken()
            trial.expect(all.isSaidToBeLast, all.rest == .nothing(until: nil))
            try await store.settle(all, ["a1": .again(30), "b1": .again(20), "c1": .delivered])
            try await store.add("d1")
            let behind = try await store.taken(at: 1, behind: all.token)
            trial.expect(behind.ids, ["d1"])
            trial.expect(behind.isSaidToBeLast, behind.rest == .nothing(until: at(20)))
        },
        rule(
            "delivering/ended-meanwhile",
            "a wait that ends while a round is under way lets no later event of its user overtake in that round"
        ) { trial in
            let store = trial.store
            try await store.add("a1", "b1", "a2", "a3")
            let first = try await store.taken()
            try await store.settle(first, ["a1": .again(5)])
            try await store.release(first)
            let lease = try await store.taken(count: 1)
            trial.expect(lease.ids, ["b1"])
            let behind = try await store.taken(at: 6, behind: lease.token)
            trial.expect(behind.ids, [])
            // It waits for the next round, not for the next event.
            trial.expect(behind.isSaidToBeLast, behind.rest == .nothing(until: at(5)))
            try await store.release(lease, at: 6)
            try await trial.expectAll(at: 6, ["a1", "b1", "a2", "a3"])
        },
        rule(
            "delivering/set-back",
            "a wait that isn't believed, because the clock was set back, keeps no event from a round"
        ) { trial in
            let store = trial.store
            try await store.add("b1", "a1")
            let first = try await store.taken(at: 200)
            try await store.settle(first, at: 200, ["a1": .again(220)])
            try await store.release(first, at: 200)
            let lease = try await store.taken(count: 1)
            trial.expect(lease.ids, ["b1"])
            let behind = try await store.taken(behind: lease.token)
            trial.expect(behind.ids, ["a1"])
            trial.expect(behind.isSaidToBeLast, behind.rest == .nothing(until: nil))
            try await store.release(lease)
            try await trial.expectAll(["b1", "a1"])
        },
        rule(
            "delivering/set-back-first",
            "after such a wait, the user's later events follow in the same round"
        ) { trial in
            let store = trial.store
            try await store.add("a1", "b1", "a2")
            let first = try await store.taken(at: 200)
            try await store.settle(first, at: 200, ["a1": .again(220)])
            try await store.release(first, at: 200)
            let lease = try await store.taken(count: 1)
            trial.expect(lease.ids, ["a1"])
            trial.expect(try await store.taken(at: 1, behind: lease.token).ids, ["b1", "a2"])
        },
        rule(
            "delivering/delayed-late",
            "what is refused late in a long round lets none of its user overtake in that round"
        ) { trial in
            for (refused, due, on) in [(0.0, 30.0, 1.0), (100, 130, 101), (100, 110, 120), (100, 105, 900)] {
                let store = trial.store
                try await store.add("a1", "b1", "a2", "b2")
                let lease = try await store.taken(count: 2)
                try await store.settle(lease, at: refused, ["a1": .again(due), "b1": .delivered])
                let more = try await store.taken(at: on, behind: lease.token)
                trial.expect(more.ids, ["b2"])
                try await store.release(lease, at: on)
                let rest = try await store.taken(at: 1_000)
                trial.expect(rest.ids, ["a1", "a2", "b2"])
                try await store.settleAll(rest)
                try await store.release(rest)
            }
        },
        rule("delivering/front", "a deliverer that begins again gets from the front what it hasn't settled") { trial in
            let store = trial.store
            try await store.add("a1", "a2", "b1")
            let lease = try await store.taken(count: 1)
            trial.expect(lease.ids, ["a1"])
            trial.expect(try await store.taken(count: 1, behind: lease.token).ids, ["a2"])
            let again = try await store.taken()
            trial.expect(again.ids, ["a1", "a2", "b1"])
            trial.expect(again.token.epoch, lease.token.epoch)
            trial.expect(try await store.settleAll(again), true)
            trial.expect(try await store.take(), .nothing(until: nil))
        },
        rule("delivering/new-ones", "what is accepted during a round comes behind the rest of it") { trial in
            let store = trial.store
            try await store.add("a1", "a2")
            let lease = try await store.taken(count: 1)
            try await store.add("a3")
            trial.expect(try await store.isCurrent(lease.token), true)
            trial.expect(try await store.taken(behind: lease.token).ids, ["a2", "a3"])
        },
    ]
}
