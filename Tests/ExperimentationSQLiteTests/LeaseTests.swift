import Experimentation
import ExperimentationSQLite
import Foundation
import GRDB
import Testing

@Suite("A lease of many events ends for each of them")
struct LeaseTests {
    private let folder = TemporaryFolder()

    /// A store with events of as many users, the first ten of them leased for a minute, and a second process.
    private func leased() async throws -> (store: SQLiteStore, other: SQLiteStore) {
        let store = try SQLiteStore(at: folder.file())
        let other = try SQLiteStore(at: folder.file())
        try await store.append((1...15).map { .sample("\($0)", user: "u\($0)") }, isHeld: false)
        #expect(try await lease(store, 10) == (1...10).map(String.init))
        return (store, other)
    }

    private func lease(_ store: SQLiteStore, _ count: Int = 100, at date: Date = noon) async throws -> [String] {
        try await store.lease(count, bytes: .max, now: date, until: date + 60).map(\.id)
    }

    private func back(_ id: String, at date: Date = noon) -> Settlement {
        .retry(id: id, at: date, attempts: 1, reason: "")
    }

    @Test(
        "whichever are given back, others may have those and no more",
        arguments: [[1], [10], [5], [1, 10], [4, 5, 6], [2, 4, 6, 8], [9, 1, 5], Array((1...10).reversed())]
    )
    func givenBack(_ numbers: [Int]) async throws {
        let (store, other) = try await leased()
        try await store.settle(numbers.map { back("\($0)") })
        #expect(try await other.status(now: noon).leased == 10 - numbers.count)
        #expect(try await lease(other) == (numbers.sorted() + (11...15)).map(String.init))
        // Both end what they have, in turns and in no order.
        let rest = Set(1...10).subtracting(numbers)
        try await store.settle(rest.map { .delivered(id: "\($0)") })
        #expect(try await other.status(now: noon).leased == numbers.count + 5)
        try await other.settle((numbers + (11...15)).reversed().map { .delivered(id: "\($0)") })
        let status = try await store.status(now: noon)
        #expect(status.ready + status.leased + status.delayed + status.held == 0)
        #expect(try await store.ledger() == Ledger(accepted: 15, delivered: 15))
    }

    @Test("those that were delivered leave the others leased")
    func delivered() async throws {
        let (store, other) = try await leased()
        try await store.settle([3, 7, 4].map { .delivered(id: "\($0)") })
        #expect(try await store.status(now: noon) == other.status(now: noon))
        #expect(try await store.status(now: noon).leased == 7)
        #expect(try await lease(other) == (11...15).map(String.init))
    }

    @Test("what one process leased another may have delivered, but not give back")
    func settledElsewhere() async throws {
        let (store, other) = try await leased()
        try await other.settle([.delivered(id: "4"), back("6"), .delivered(id: "unknown")])
        #expect(try await store.status(now: noon).leased == 9)
        #expect(try await store.ledger() == Ledger(accepted: 15, delivered: 1, pending: 14))
    }

    @Test("over by its time, all of it that is left is taken by another, and answers to the first still count")
    func over() async throws {
        let (store, other) = try await leased()
        try await store.settle([.delivered(id: "2"), back("3", at: noon + 90)])
        #expect(try await lease(other, at: noon + 61) == ["1"] + (4...15).map(String.init))
        #expect(try await other.status(now: noon + 61).delayed == 1)
        try await store.settle((4...6).map { .delivered(id: "\($0)") })
        #expect(try await other.status(now: noon + 61).leased == 10)
        #expect(try await lease(store, at: noon + 91) == ["3"])
        #expect(try await store.ledger() == Ledger(accepted: 15, delivered: 4, pending: 11))
    }

    @Test("P20 who was slow gives back nothing that another has leased meanwhile, and what nobody has")
    func slow() async throws {
        let (store, other) = try await leased()
        #expect(try await lease(other, 3, at: noon + 61) == ["1", "2", "3"])
        try await store.settle((1...10).map { back("\($0)", at: noon + 62) })
        #expect(try await other.status(now: noon + 62).leased == 3)
        #expect(try await lease(store, at: noon + 62) == (4...15).map(String.init))
        // What is leased anew by the same store may be given back by it.
        try await store.settle([back("4", at: noon + 63)])
        #expect(try await lease(other, at: noon + 63) == ["4"])
    }

    @Test("a purge leaves no lease and no memory of what it removed")
    func purged() async throws {
        let store = try SQLiteStore(at: folder.file())
        for round in 0..<20 {
            let others = Envelope.sample("b\(round)", user: "bob-\(round)")
            try await store.append([.sample("\(round)", user: "ada"), others], isHeld: false)
            _ = try await lease(store)
            #expect(try await store.purge(userID: "ada") == 1)
        }
        let raw = try DatabaseQueue(path: folder.file().path)
        let left = try await raw.read { try Int.fetchOne($0, sql: "SELECT sum(last - first + 1) FROM lease") }
        #expect(left == 20)
        try await store.settle((0..<20).map { .delivered(id: "b\($0)") })
        #expect(try await store.status(now: noon) == OutboxStatus())
    }

    @Test("a wait or a lease that damage made endless doesn't last for ever")
    func endless() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1"), .sample("2", user: "bob")], isHeld: false)
        _ = try await lease(store)
        try await store.settle([back("1", at: noon + 30)])
        let raw = try DatabaseQueue(path: folder.file().path)
        try await raw.write { database in
            try database.execute(sql: "UPDATE attempt SET due = 1e300, attempts = 9223372036854775807")
            try database.execute(sql: "UPDATE lease SET due = 1e300")
        }
        let events = try await store.lease(10, bytes: .max, now: noon + 100_000, until: noon + 100_060)
        #expect(events.map(\.id) == ["1", "2"])
        #expect(events.map(\.attempts) == [1_000_000, 0])
    }

    @Test("one that has waited its time doesn't wait again when the clock is set back after its lease")
    func setBack() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("1")], isHeld: false)
        #expect(try await lease(store) == ["1"])
        try await store.settle([back("1", at: noon + 30)])
        #expect(try await lease(store, at: noon + 10) == [])
        #expect(try await lease(store, at: noon + 600) == ["1"])
        #expect(try await lease(store, at: noon + 10) == ["1"])
    }

    @Test("what the store couldn't write down is found again, in any order")
    func failed() async throws {
        let store = try SQLiteStore(at: folder.file(), busyTimeout: .milliseconds(10))
        try await store.append((1...6).map { .sample("\($0)") }, isHeld: false)
        _ = try await lease(store)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await #expect(throws: ExperimentationError.self) {
            try await store.settle((1...5).map { .delivered(id: "\($0)") })
        }
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await store.settle([6, 5, 1, 2, 4, 3].map { .delivered(id: "\($0)") })
        #expect(try await store.ledger() == Ledger(accepted: 6, delivered: 6))
    }
}
