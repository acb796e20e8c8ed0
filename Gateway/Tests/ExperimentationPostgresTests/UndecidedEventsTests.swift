import Experimentation
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import ExperimentationPostgres

private let start = Date(timeIntervalSince1970: 1_795_262_400)
private let home = Destination(provider: "home", scope: "")

private func event(_ id: String, of user: String = "u") -> NewEvent {
    NewEvent(Envelope(id: id, identity: Identity(id: user), event: .custom("x"), date: start), to: home)
}

@Suite("An event whose acceptance had no outcome", .serialized)
struct UndecidedEventsTests {
    /// A store behind a relay, and one that reaches the same tables directly.
    private struct Pair {
        let relay: CuttingRelay
        let store: PostgresStore
        let other: PostgresStore

        init() async throws {
            relay = try CuttingRelay(to: try PostgresServer.shared)
            let schema = newSchema()
            store = try await PostgresStore.open(
                relay.url,
                options: PostgresStoreOptions(schema: schema, connections: 1, patience: .seconds(2), shards: 1)
            )
            other = try await opened(schema)
            #expect(try await store.outbox.append([event("first")], now: start) == [nil])
        }

        /// Cuts the store off from a commit's answer on.
        func appendUnheard(_ events: NewEvent...) async throws {
            relay.cut(1, andParts: true)
            let error = await #expect(throws: ExperimentationError.self) {
                _ = try await store.outbox.append(events, now: start)
            }
            #expect(error?.cause is LateAnswer)
            #expect(relay.cutsLeft == 0)
            relay.part(false)
        }

        func end() async {
            await store.close()
            await other.close()
            relay.stop()
        }
    }

    /// Delivers everything that waits.
    private static func deliver(_ store: PostgresStore) async throws {
        let request = LeaseRequest(
            for: home,
            owner: 1,
            batches: 1,
            of: 100,
            bytes: .max,
            now: start,
            until: start.addingTimeInterval(60)
        )
        guard case .leased(let lease) = try await store.outbox.lease(request) else {
            Issue.record("nothing was leased")
            return
        }
        let settlements = lease.batches.joined().map { Settlement(of: $0, .delivered) }
        _ = try await store.outbox.settle(settlements, under: lease.token, now: start)
    }

    @Test("is known as accepted by the instance that tried, even after its delivery; an event never sent isn't")
    func delivered() async throws {
        let pair = try await Pair()
        try await pair.appendUnheard(event("unheard"))
        try await eventually("it has been accepted") {
            try await pair.other.outbox.waiting(after: 0, limit: 9).map(\.envelope.id) == ["first", "unheard"]
        }
        try await Self.deliver(pair.other)
        #expect(try await pair.other.outbox.waiting(after: 0, limit: 9).isEmpty)
        #expect(try await pair.store.wasAccepted("unheard", of: "u"))
        #expect(try await !pair.store.wasAccepted("never", of: "u"))
        await pair.end()
    }

    @Test("doesn't count as accepted if the transaction refused it")
    func refused() async throws {
        let pair = try await Pair()
        _ = try await pair.other.outbox.setConsent([ConsentChange(userID: "eve", isGranted: false)])
        try await pair.appendUnheard(event("unheard"), event("refused", of: "eve"))
        #expect(try await pair.store.wasAccepted("unheard", of: "u"))
        #expect(try await !pair.store.wasAccepted("refused", of: "eve"))
        await pair.end()
    }

    @Test("counts as absent if the server, after a crash, has yet to assign its transaction's id")
    func future() async throws {
        let store = try await opened()
        let events = try #require(store.outbox as? PostgresOutboxStore)
        events.undecided.note(["lost"], TransactionMark(number: 1 << 40 | 12_345, word: [1]))
        #expect(try await !store.wasAccepted("lost", of: "u"))
        #expect(events.undecided.mark(of: "lost") == nil)
        await store.close()
    }

    @Test("is waited for while the server still carries it out", arguments: [true, false])
    func underWay(commits: Bool) async throws {
        let server = try PostgresServer.shared
        let store = try await opened(connections: 2)
        _ = try await store.outbox.append([event("first")], now: start)
        let events = try #require(store.outbox as? PostgresOutboxStore)
        // The acceptance waits in the server while this lock is held.
        let name = newSchema()
        let lock = try HeldLock(openingOf: name, at: server)
        // Found by its own lock, because other tests wait in the same server.
        let standing = """
            FROM pg_locks AS standing WHERE locktype = 'advisory' AND NOT granted
            AND (classid::bigint << 32 | objid::bigint) = hashtextextended('\(name)', 5551)
            """
        func isThere(_ rows: String) throws -> Bool { try server.ask("SELECT count(*) \(rows)") != "0\n" }
        async let appended: Void = store.pool.transaction(.repeatable) { transaction throws(ConnectionFailure) in
            let arrivals = Arrivals([event("late")], limit: 1_000_000, events.person)
            var acceptance = Acceptance(arrivals, events, transaction, now: start)
            _ = try acceptance.carryOut()
            _ = try transaction.rows(
                Statement("SELECT 1 FROM pg_advisory_xact_lock(hashtextextended($1, 5551))", .text(name))
            )
            if !commits { throw .store(ExperimentationError(.store, "as the test wants it")) }
        }
        try await eventually("the acceptance is under way") { try isThere(standing) }
        async let answer = store.wasAccepted("late", of: "u")
        try await eventually("the question waits for it") {
            try isThere(
                "\(standing) AND EXISTS (SELECT FROM pg_stat_activity WHERE standing.pid = ANY(pg_blocking_pids(pid)))"
            )
        }
        try lock.release()
        #expect(try await answer == commits)
        _ = try? await appended
        await store.close()
    }

    @Test("is forgotten once its outcome is known, and after 10,000 others", arguments: [1, 400])
    func bounded(size: Int) {
        let undecided = UndecidedEvents()
        let mark = TransactionMark(number: 1, word: nil)
        undecided.note(["first", "second"], mark)
        undecided.note(["second"], TransactionMark(number: 2, word: nil))
        #expect(undecided.mark(of: "first") == mark)
        #expect(undecided.mark(of: "second")?.number == 2)
        undecided.decided("second")
        #expect(undecided.mark(of: "second") == nil)
        for number in 0..<(10_000 / size - 1) {
            undecided.note((0..<size).map { "\(number)/\($0)" }, TransactionMark(number: 3, word: nil))
        }
        #expect(undecided.mark(of: "first") == mark)
        undecided.note((0..<size).map { "last/\($0)" }, TransactionMark(number: 4, word: nil))
        #expect(undecided.mark(of: "first") == nil)
        #expect(undecided.mark(of: "0/0")?.number == 3)
    }
}
