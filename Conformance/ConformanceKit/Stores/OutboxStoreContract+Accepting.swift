import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Accepted events are returned unchanged.
    static let accepting = [
        rule("accepting/whole", "events come back whole, numbered in the order of acceptance") { trial in
            var first = NewEvent("a1").envelope
            first.identity = Identity(id: "zoë\u{0}\u{1F469}\u{200D}\u{1F680}'; DROP TABLE event; --", anonymousID: "x")
            first.surface = "home"
            first.attributeChanges = ["plan": "pro", "age": .null, "deep": ["x": [1, 2.5, true]]]
            first.event.attributes = ["quote": "\"\\\u{7}", "big": .double(1e308), "many": .int(.max)]
            var second = NewEvent("b1", .purchase, at: 0.25).envelope
            try await trial.store.add([NewEvent(first, to: .home), NewEvent(second, to: .home)])
            let lease = try await trial.store.taken()
            first.sequence = lease.batches.first?.first?.sequence ?? 0
            second.sequence = lease.batches.last?.last?.sequence ?? 0
            trial.expect(lease.batches, [[first, second]])
            trial.expect(first.sequence < second.sequence, true)
        },
        rule("accepting/nothing", "an empty outbox gives nothing and counts nothing") { trial in
            let store = trial.store
            trial.expect(try await store.take(), .nothing(until: nil))
            trial.expect(try await store.setConsent([.denied("a"), .granted("b")]), ConsentOutcome())
            trial.expect(try await store.setConsent([]), ConsentOutcome())
            trial.expect(try await store.expire(before: .distantFuture, owedTo: .home, now: start), 0)
            trial.expect(try await store.remove(owedTo: .home, as: .purged), 0)
            trial.expect(try await store.add([]), [])
            trial.expect(try await store.status(of: nil, now: start), OutboxStatus())
            trial.expect(try await store.status(of: .away, now: start), OutboxStatus())
            trial.expect(try await store.ledger(of: nil), Ledger())
            trial.expect(try await store.ledger(of: .away), Ledger())
            trial.expect(try await store.waiting(after: 0, limit: 9), [])
            trial.expect(try await store.destinations().contains(.away), false)
        },
        rule(
            "accepting/refused-alone",
            "an event over the limit is refused by itself; the others of its call are accepted",
            size: StoreSize(maximumEventBytes: 1_000)
        ) { trial in
            let codes = try await trial.store.add([
                NewEvent("a1"), NewEvent("a2", .custom(String(repeating: "é", count: 500))),
                NewEvent("a3", .custom("x", value: .infinity)), NewEvent("a4", owedTo: []), NewEvent("a5"),
            ])
            trial.expect(codes, [nil, .tooLarge, .invalidArgument, .invalidArgument, nil])
            try await trial.expectAll(["a1", "a5"])
            try await trial.expectLedger(Ledger(accepted: 2, pending: 2))
        },
        rule(
            "accepting/refused-grants",
            "consent that comes with a refused event is granted all the same, before the events behind it",
            size: StoreSize(maximumEventBytes: 1_000)
        ) { trial in
            let store = trial.store
            let large = TrackingEvent.custom(String(repeating: "é", count: 500))
            try await store.add([NewEvent("e1", isHeld: true)])
            _ = try await store.setConsent(["a", "b", "c", "d"].map { .denied($0) })
            let codes = try await store.add([
                NewEvent("a1", .custom("x", value: .nan), grantsConsent: true), NewEvent("a2"),
                NewEvent("b1", large, grantsConsent: true), NewEvent("b2"), NewEvent("b3", grantsConsent: true),
                NewEvent("c1", owedTo: [], grantsConsent: true), NewEvent("c2"),
            ])
            trial.expect(codes, [.invalidArgument, nil, .tooLarge, nil, nil, .invalidArgument, nil])
            // The same for refused events that are added alone.
            trial.expect(try await store.add([NewEvent("d1", large, grantsConsent: true)]), [.tooLarge])
            trial.expect(try await store.add([NewEvent("e2", large, grantsConsent: true)]), [.tooLarge])
            trial.expect(try await store.add("d2"), [nil])
            try await trial.expectAll(["e1", "a2", "b2", "b3", "c2", "d2"])
            try await trial.expectLedger(Ledger(accepted: 6, pending: 6))
        },
        rule(
            "accepting/joined",
            "events that arrive during the transaction are taken in order, or left; each that is taken is answered",
            size: StoreSize(maximumEventBytes: 1_000)
        ) { trial in
            _ = try await trial.store.setConsent([.denied("d")])
            let arriving = [
                [NewEvent("a2"), NewEvent("d1"), NewEvent("a3", .custom(String(repeating: "é", count: 500)))],
                [NewEvent("b1")],
            ]
            let events = [NewEvent("a1"), NewEvent("d0")] + arriving.joined()
            let codes: [ErrorCode?] = [nil, .consentDenied, nil, .consentDenied, .tooLarge, nil]
            let taken = try await trial.store.append(
                Array(events.prefix(2)),
                joinedBy: { count in
                    // The first part, then the second, and after them nothing.
                    let end = count < 2 + arriving[0].count ? 2 + arriving[0].count : events.count
                    return Array(events[min(count, end)..<end])
                },
                now: start
            )
            trial.expect(taken.map { $0?.code }, Array(codes.prefix(taken.count)))
            trial.expect([2, 5, 6].contains(taken.count), true)
            let accepted = zip(events, taken).compactMap { $1 == nil ? $0.envelope.id : nil }
            try await trial.expectAll(accepted)
            try await trial.expectLedger(Ledger(accepted: accepted.count, pending: accepted.count))
        },
        rule("accepting/pages", "what waits can be looked at, page by page, and stays as it is") { trial in
            let store = trial.store
            try await store.add([NewEvent("a1", owedTo: [.home, .away]), NewEvent("b1"), NewEvent("c1", isHeld: true)])
            let lease = try await store.taken(count: 1)
            try await store.settle(lease, ["a1": .again(5, attempts: 2)])
            let first = try await store.waiting(after: 0, limit: 2)
            trial.expect(first.map(\.envelope.id), ["a1", "b1"])
            trial.expect(first.map(\.envelope.attempts), [2, 0])
            trial.expect(
                first.map(\.deliveries),
                [
                    [.init(to: .home, attempts: 2, reason: "HTTP 400"), .init(to: .away)],
                    [.init(to: .home)],
                ]
            )
            let rest = try await store.waiting(after: first.last?.envelope.sequence ?? 0, limit: 2)
            trial.expect(rest.map(\.envelope.id), ["c1"])
            trial.expect(rest.map(\.deliveries), [[.init(to: .home, isHeld: true)]])
            trial.expect(try await store.waiting(after: rest.last?.envelope.sequence ?? 0, limit: 2), [])
            try await store.release(lease)
            try await trial.expectAll(at: 6, ["a1", "b1"])
        },
        rule("accepting/at-once", "hundreds of callers at once are all served, each in its order") { trial in
            let store = trial.store
            try await withThrowingTaskGroup { group in
                for caller in 0..<200 {
                    group.addTask {
                        let user = String(UnicodeScalar(UInt32(0x4E00 + caller)).map(Character.init) ?? "x")
                        for step in 0..<5 { try await store.add("\(user)\(step)") }
                    }
                }
                group.addTask {
                    for turn in 0..<20 {
                        guard case .leased(let lease) = try await store.take(count: 50) else { continue }
                        try await store.settleAll(lease)
                        if turn % 2 == 0 { _ = try await store.status(of: nil, now: start) }
                    }
                }
                try await group.waitForAll()
            }
            let status = try await store.status(of: .home, now: start)
            let left = try await store.ledger(of: .home).pending
            trial.expect(status.ready + status.leased, left)
            var last: [Character: Character] = [:]
            while case .leased(let lease) = try await store.take(count: 100) {
                for id in lease.ids {
                    guard let user = id.first, let step = id.last else { continue }
                    if let before = last[user] { trial.expect(before < step, true) }
                    last[user] = step
                }
                try await store.settleAll(lease)
            }
            try await trial.expectLedger(Ledger(accepted: 1_000, delivered: 1_000))
        },
    ]
}
