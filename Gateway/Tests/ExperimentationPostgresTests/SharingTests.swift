import Experimentation
import ExperimentationPostgres
import Foundation
import PostgresServers
import Testing

private let start = Date(timeIntervalSince1970: 1_795_262_400)
private let home = Destination(provider: "home", scope: "")
private let away = Destination(provider: "away", scope: "")

private func event(_ id: String, of user: String, to destinations: [Destination] = [home]) -> NewEvent {
    NewEvent(
        Envelope(id: id, identity: Identity(id: user), event: .custom("x"), date: start),
        owedTo: destinations.map { NewEvent.Delivery(to: $0) }
    )
}

@Suite("Several machines on one database")
struct SharingTests {
    /// Leases and settles until nothing is left.
    private static func deliver(
        _ store: any OutboxStore,
        _ owner: Int64,
        to destination: Destination = home,
        _ sent: @Sendable (Envelope) -> Void
    ) async throws {
        while true {
            let request = LeaseRequest(for: destination, owner: owner, of: 5, now: start, until: start + 60)
            switch try await store.lease(request) {
            case .leased(let lease):
                let envelopes = Array(lease.batches.joined())
                guard try await store.isCurrent(lease.token) else { continue }
                envelopes.forEach(sent)
                _ = try await store.settle(
                    envelopes.map { Settlement(of: $0, .delivered) },
                    under: lease.token,
                    now: start
                )
            case .busy: await Task.yield()
            default: return
            }
        }
    }

    @Test("three instances deliver at once: each event once, each user's events in order, and the ledgers balance")
    func three() async throws {
        let schema = newSchema()
        var stores: [PostgresStore] = []
        for _ in 0..<3 { stores.append(try await opened(schema, shards: 16)) }
        let users = (0..<40).map { "user-\($0)" }
        for number in 0..<12 {
            let refusals = try await stores[number % 3].outbox.append(
                users.map { event("\($0)/\(number)", of: $0) },
                now: start
            )
            #expect(refusals == Array(repeating: nil, count: users.count))
        }
        let sent = Noted<[String: [String]]>([:])
        let owners = Noted<Set<Int64>>([])
        try await withThrowingTaskGroup { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    try await Self.deliver(store.outbox, Int64(number + 1)) { envelope in
                        owners.change { _ = $0.insert(Int64(number + 1)) }
                        sent.change { $0[envelope.identity.id, default: []].append(envelope.id) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let expected = Dictionary(uniqueKeysWithValues: users.map { user in (user, (0..<12).map { "\(user)/\($0)" }) })
        #expect(sent.value == expected)
        #expect(owners.value.count > 1)
        #expect(try await stores[1].outbox.ledger(of: home) == Ledger(accepted: 480, delivered: 480))
        #expect(try PostgresServer.shared.ask("SELECT count(*) FROM \(schema).event") == "0\n")
    }

    @Test("a lease says whether the lane has more, whatever filled its batches")
    func hasMore() async throws {
        let store = try await opened(newSchema(), shards: 1).outbox
        let refusals = try await store.append((1...3).map { event("\($0)", of: "u\($0)") }, now: start)
        #expect(refusals == [nil, nil, nil])
        for (count, bytes, hasMore) in [(3, Int.max, false), (2, .max, true), (3, 1, true), (.max, .max, false)] {
            let request = LeaseRequest(for: home, owner: 1, of: count, bytes: bytes, now: start, until: start + 60)
            guard case .leased(let lease) = try await store.lease(request) else {
                Issue.record("nothing was leased")
                continue
            }
            #expect(lease.batches.joined().map(\.id) == (1...(bytes == 1 ? 1 : min(count, 3))).map(String.init))
            #expect(lease.rest == (hasMore ? .more : .otherLanes), "\(count) of \(bytes) bytes")
        }
    }

    @Test(
        "unreadable events hide nothing that follows them, however many they are",
        arguments: [(1, ["2", "3"]), (2, ["3"]), (3, ["4", "5"]), (7, ["8"])]
    )
    func unreadable(count: Int, ids: [String]) async throws {
        let schema = newSchema()
        let store = try await opened(schema, shards: 1).outbox
        let refusals = try await store.append((1...8).map { event("\($0)", of: "u\($0)") }, now: start)
        #expect(refusals.allSatisfy { $0 == nil })
        try PostgresServer.shared.ask(
            "UPDATE \(schema).event SET body = '\\x00' WHERE convert_from(id, 'UTF8')::int <= \(count)"
        )
        let request = LeaseRequest(for: home, owner: 1, of: 2, now: start, until: start + 60)
        guard case .leased(let lease) = try await store.lease(request) else {
            Issue.record("nothing was leased")
            return
        }
        #expect(lease.batches.joined().map(\.id) == ids)
        #expect(lease.rest == (count < 7 ? .more : .otherLanes))
        #expect(try await store.ledger(of: home).dropped == [.unreadable: count])
    }

    @Test("a lost instance keeps its lane until the lease ends; then others deliver its events")
    func gone() async throws {
        let schema = newSchema()
        let first = try await opened(schema, shards: 16)
        let second = try await opened(schema, shards: 16)
        _ = try await first.outbox.append((0..<50).map { event("\($0)", of: "u\($0)") }, now: start)
        let request = LeaseRequest(for: home, owner: 1, of: 100, now: start, until: start + 60)
        guard case .leased(let lease) = try await first.outbox.lease(request) else {
            Issue.record("nothing was leased")
            return
        }
        let sent = Noted<Set<String>>([])
        while true {
            let request = LeaseRequest(for: home, owner: 2, of: 100, now: start + 59, until: start + 119)
            guard case .leased(let other) = try await second.outbox.lease(request) else { break }
            for envelope in other.batches.joined() { sent.change { _ = $0.insert(envelope.id) } }
            let settlements = other.batches.joined().map { Settlement(of: $0, .delivered) }
            _ = try await second.outbox.settle(settlements, under: other.token, now: start + 59)
        }
        #expect(sent.value.isDisjoint(with: lease.batches.joined().map(\.id)))
        #expect(try await !second.hasUnclaimedEvents(before: start + 1, now: start + 59))
        #expect(try await second.hasUnclaimedEvents(before: start + 1, now: start + 60))
        #expect(try await !second.hasUnclaimedEvents(before: start, now: start + 60))
        let later = LeaseRequest(for: home, owner: 2, of: 100, now: start + 60, until: start + 120)
        guard case .leased(let rest) = try await second.outbox.lease(later) else {
            Issue.record("what the first had can't be taken")
            return
        }
        #expect(rest.batches.joined().map(\.id) == lease.batches.joined().map(\.id))
        #expect(try await second.outbox.ledger(of: home).pending == rest.batches.joined().count)
    }

    @Test("after concurrent acceptance and denial, a user who denied has nothing waiting")
    func denial() async throws {
        let schema = newSchema()
        let stores = [try await opened(schema, shards: 4), try await opened(schema, shards: 4)]
        for round in 0..<60 {
            let user = "u\(round)"
            async let refusals = stores[0].outbox.append([event("e\(round)", of: user)], now: start)
            async let outcome = stores[1].outbox.setConsent([ConsentChange(userID: user, isGranted: false)])
            let (refusal, removed) = (try await refusals[0], try await outcome.removed)
            #expect((refusal?.code == .consentDenied) != (removed == 1))
        }
        #expect(try await stores[0].outbox.waiting(after: 0, limit: 9).isEmpty)
        #expect(try await stores[0].outbox.ledger(of: home).isBalanced)
    }

    @Test("two destinations that settle an event at the same moment leave no trace of it")
    func bodies() async throws {
        let schema = newSchema()
        let stores = [try await opened(schema, shards: 1), try await opened(schema, shards: 1)]
        let both = [home, away]
        for round in 0..<30 {
            let events = (0..<20).map { event("\(round)/\($0)", of: "u\($0)", to: both) }
            _ = try await stores[0].outbox.append(events, now: start)
            try await withThrowingTaskGroup { group in
                for (store, destination) in zip(stores, both) {
                    group.addTask { try await Self.deliver(store.outbox, 1, to: destination) { _ in } }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await stores[0].outbox.ledger() == Ledger(accepted: 1_200, delivered: 1_200))
        #expect(try PostgresServer.shared.ask("SELECT count(*) FROM \(schema).event") == "0\n")
    }

    @Test("opening a new database concurrently creates one store")
    func opening() async throws {
        let schema = newSchema()
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let store = try await opened(schema, shards: nil, connections: 1)
                    _ = try await store.outbox.append([event("\(number)", of: "u\(number)")], now: start)
                    await store.close()
                }
            }
            try await group.waitForAll()
        }
        let store = try await opened(schema, shards: 16)
        #expect(try await store.outbox.ledger() == Ledger(accepted: 8, pending: 8))
        #expect(try await store.outbox.destinations() == [home])
    }
}
