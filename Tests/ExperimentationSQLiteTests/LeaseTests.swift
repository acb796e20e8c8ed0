import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("A lane in the file")
struct LeaseTests {
    private let folder = TemporaryFolder()

    @Test("a lease writes to no event, whatever it contains and however it ends")
    func writesNoEvent() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append((1...50).map { .sample("\($0)", user: "u\($0)") })
        // The first lease writes the rows of the deliveries.
        #expect(try await store.deliverable().count == 50)
        let raw = try DatabaseQueue(path: folder.file().path)
        func rows() async throws -> [String] {
            try await raw.read { database in
                try String.fetchAll(
                    database,
                    sql: """
                        SELECT format('%d %d %s %s %s', event.sequence, held, noted, due, hex(body))
                        FROM event, delivery ON delivery.sequence = event.sequence
                        """
                )
            }
        }
        let before = try await rows()
        let lease = try #require(try await store.take(20))
        #expect(try await rows() == before)
        try await store.release(lease.token, pause: DeliveryPause(until: noon + 9, reason: "x", through: 9), now: noon)
        #expect(try await rows() == before && before.count == 50)
    }

    @Test("a lease says whether the lane has more, whatever filled its batches", arguments: StoreKind.allCases)
    func hasMore(kind: StoreKind) async throws {
        let store = try kind.open(folder)
        try await store.append((1...3).map { .sample("\($0)", user: "u\($0)") })
        for (limit, bytes, hasMore) in [(3, Int.max, false), (2, .max, true), (3, 1, true)] {
            let lease = try #require(try await store.take(limit, bytes: bytes))
            let expected = bytes == 1 ? 1 : limit
            #expect(lease.ids == (1...expected).map(\.description))
            #expect(lease.rest == (hasMore ? .more : .nothing(until: nil)), "\(limit) of \(bytes) bytes")
        }
    }

    @Test("a removal deletes all of a user's deliveries; the lease holder keeps the others")
    func purged() async throws {
        let store = try SQLiteStore(at: folder.file())
        for round in 0..<20 {
            try await store.append([.sample("\(round)", user: "ada"), .sample("b\(round)", user: "bob-\(round)")])
            _ = try await store.take()
            #expect(try await store.purge("ada") == 1)
        }
        let raw = try DatabaseQueue(path: folder.file().path)
        let left = try await raw.read { database in
            try ["event", "delivery", "denial"].map { table in
                try Int.fetchOne(database, SQLRequest(literal: "SELECT count(*) FROM \(sql: table)")) ?? -1
            }
        }
        #expect(left == [20, 20, 0])
        try await store.settle(try #require(try await store.take()))
        #expect(try await store.status(now: noon) == OutboxStatus())
    }

    @Test("a wait, lease or pause made endless by damage doesn't last forever")
    func endless() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1"), .sample("2", user: "bob")])
        let lease = try #require(try await store.take())
        let retry = Settlement.Outcome.retry(at: noon + 30, attempts: 1, reason: "")
        _ = try await store.settle([Settlement(of: lease.events[0], retry)], under: lease.token, now: noon)
        let raw = try DatabaseQueue(path: folder.file().path)
        try await raw.write { database in
            try database.execute(sql: "UPDATE delivery SET due = 1e300, attempts = 9223372036854775807 WHERE due > 0")
            try database.execute(sql: "UPDATE destination SET until = 1e300, resumes = 1e300, paused = 0")
        }
        let next = try #require(try await store.take(owner: 2, at: noon + 100_000))
        #expect(next.ids == ["1", "2"])
        #expect(next.events.map(\.attempts) == [1_000_000, 0])
    }

    @Test("an event that has waited isn't delayed again when the clock is set back after its lease")
    func setBack() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1")])
        let lease = try #require(try await store.take())
        try await store.settle(lease) { _ in .retry(at: noon + 30, attempts: 1, reason: "") }
        #expect(try await store.deliverable(at: noon + 10) == [])
        #expect(try await store.take(at: noon + 600)?.ids == ["1"])
        #expect(try await store.take(at: noon + 610)?.ids == ["1"])
    }

    @Test("with several writers, a file's ledger is the sum of all, whichever writer stores it")
    func accounts() async throws {
        let stores = [try SQLiteStore(at: folder.file()), try SQLiteStore(at: folder.file())]
        for number in 0..<20 {
            try await stores[number % 2].append([.sample("\(number)", user: "u\(number)")])
            for store in stores { try await store.expectBalance(number + 1) }
        }
        try await stores[1].settle(try #require(try await stores[1].take(7)))
        await stores[0].close()
        await stores[1].close()
        let next = try SQLiteStore(at: folder.file())
        #expect(try await next.ledger() == Ledger(accepted: 20, delivered: 7, pending: 13))
    }
}
