import Experimentation
import Foundation

extension OutboxStoreContract {
    /// How events are settled, and what is reported.
    static let settling = [
        rule("settling/once", "each event is settled once, whatever is said twice") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1", "d1", "e1")
            let lease = try await store.taken()
            for _ in 0..<2 {
                let isCurrent = try await store.settle(
                    lease,
                    [
                        "a1": .delivered, "b1": .refused, "c1": .again(10, attempts: 2),
                        "d1": .dropped(.init(rawValue: "of-its-own"), detail: ""), "unknown": .delivered,
                    ]
                )
                trial.expect(isCurrent, true)
            }
            let ledger = Ledger(
                accepted: 5,
                delivered: 1,
                pending: 2,
                dropped: [.rejected: 1, .init(rawValue: "of-its-own"): 1]
            )
            try await trial.expectLedger(ledger)
            var status = try await store.status(of: .home, now: start)
            trial.expect(status.failures, ["HTTP 400": 1])
            trial.expect([status.ready, status.delayed, status.leased], [0, 1, 1])
            trial.expect(status.nextAttempt, at(10))
            status = try await store.status(of: .home, now: at(10))
            trial.expect([status.delayed, status.leased], [0, 2])
        },
        rule("settling/any-order", "whatever is settled, the rest is where it was") { trial in
            for numbers in [[0], [9], [4], [0, 9], [3, 4, 5], [1, 3, 5, 7], [8, 0, 4], Array((0...9).reversed())] {
                let store = trial.store
                let ids = (0..<15).map { String(UnicodeScalar(UInt8(97 + $0))) }
                try await store.add(ids.map { NewEvent($0) })
                let lease = try await store.taken(1, count: 10)
                trial.expect(lease.ids, Array(ids.prefix(10)))
                for number in numbers { try await store.settle(lease, [ids[number]: .delivered]) }
                var left = ids
                for number in numbers.sorted().reversed() { left.remove(at: number) }
                let status = try await store.status(of: .home, now: start)
                trial.expect([status.leased, status.ready], [10 - numbers.count, 5])
                trial.expect(try await store.waiting(after: 0, limit: 99).map(\.envelope.id), left)
                trial.expect(try await store.taken(1, behind: lease.token).ids, Array(ids.suffix(5)))
                let rest = try await store.taken(1)
                trial.expect(rest.ids, left)
                try await store.settleAll(rest)
                try await store.release(rest)
            }
            try await trial.expectLedger(Ledger(accepted: 120, delivered: 120))
        },
        rule("settling/attempts", "attempts and reasons come with the event, and an empty reason leaves the last") {
            trial in
            let store = trial.store
            try await store.add("a1")
            for (attempt, reason) in [(1, "HTTP 400"), (1, ""), (2, "HTTP 413")] {
                let lease = try await store.taken()
                try await store.settle(lease, ["a1": .again(0, attempts: attempt, reason)])
                let waiting = try await store.waiting(after: 0, limit: 1)
                trial.expect(waiting.map(\.envelope.attempts), [attempt])
                trial.expect(waiting.map(\.reason), [reason.isEmpty ? "HTTP 400" : reason])
                trial.expect(try await store.taken().first.attempts, attempt)
            }
        },
        rule("settling/status", "what is given out counts as leased until it is settled or the lease is over") {
            trial in
            let store = trial.store
            try await store.add([
                NewEvent("a1", at: 5), NewEvent("b1", at: 3), NewEvent("c1", isHeld: true), NewEvent("d1"),
            ])
            let lease = try await store.taken(count: 2)
            let bytes = try await store.status(of: nil, now: start).bytes
            trial.expect(bytes > 0, true)
            let expected = OutboxStatus(ready: 1, held: 1, leased: 2, bytes: bytes, oldest: at(5))
            trial.expect(try await store.status(of: .home, now: start), expected)
            trial.expect(try await store.status(of: nil, now: at(59.9)), expected)
            let over = OutboxStatus(ready: 3, held: 1, bytes: bytes, oldest: at(5))
            trial.expect(try await store.status(of: nil, now: at(60)), over)
            try await store.release(lease)
            trial.expect(try await store.status(of: nil, now: start), over)
        },
        rule("settling/expired", "what is too old is dropped, unless it is in a live lease's hands") { trial in
            let store = trial.store
            try await store.add([
                NewEvent("a1"), NewEvent("b1", isHeld: true, at: 1), NewEvent("c1", at: 2), NewEvent("d1", at: 1),
                NewEvent("e1", at: 3),
            ])
            _ = try await store.taken(count: 2)
            // b1 was skipped because it is held, so it isn't leased.
            trial.expect(try await store.expire(before: at(3), owedTo: .home, now: start), 2)
            trial.expect(try await store.expire(before: at(3), owedTo: .home, now: start), 0)
            try await trial.expectLedger(Ledger(accepted: 5, pending: 3, dropped: [.expired: 2]))
            trial.expect(try await store.expire(before: at(3), owedTo: .home, now: at(60)), 2)
            try await trial.expectAll(at: 60, ["e1"])
        },
        rule("settling/expired-late", "what a late holder had and is given up ends its round") { trial in
            let store = trial.store
            try await store.add([NewEvent("a1"), NewEvent("b1", at: 5), NewEvent("c1"), NewEvent("d1", at: 5)])
            let lease = try await store.taken(count: 2)
            trial.expect(try await store.expire(before: at(1), owedTo: .home, now: start), 1)
            trial.expect(try await store.isCurrent(lease.token), true)
            trial.expect(try await store.expire(before: at(1), owedTo: .home, now: at(60)), 1)
            trial.expect(try await store.isCurrent(lease.token), false)
            let isCurrent = try await store.settle(lease, at: 61, ["a1": .delivered, "b1": .delivered])
            trial.expect(isCurrent, false)
            try await trial.expectLedger(Ledger(accepted: 4, delivered: 1, pending: 1, dropped: [.expired: 2]))
        },
        rule("settling/cancelled", "what a cancelled task says is carried out like anything else") { trial in
            let store = trial.store
            _ = try await cancelled { try await store.add("a1", "b1", "c1") }
            _ = try await cancelled { try await store.setConsent([.denied("c")]) }
            let lease = try await cancelled { try await store.taken() }
            trial.expect(lease.ids, ["a1", "b1"])
            _ = try await cancelled { try await store.settle(lease, ["a1": .delivered]) }
            try await cancelled { try await store.release(lease) }
            try await trial.expectLedger(Ledger(accepted: 3, delivered: 1, pending: 1, purged: 1))
            trial.expect(try await store.status(of: .home, now: start).leased, 0)
        },
    ]

    /// Runs work in a task that is cancelled already.
    private static func cancelled<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await work()
        }
        return try await task.value
    }
}
