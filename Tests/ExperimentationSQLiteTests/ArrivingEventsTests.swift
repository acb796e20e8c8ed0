import Experimentation
import Foundation
import Synchronization
import Testing
import Waiting

@testable import ExperimentationSQLite

@Suite("A commit that waits for the disk includes events that arrive meanwhile")
struct ArrivingEventsTests {
    private let folder = TemporaryFolder()

    private func store(_ durability: Durability) throws -> SQLiteStore {
        try SQLiteStore(at: folder.file(), options: .init(durability: durability))
    }

    @Test("a transaction includes events that arrive until none does", arguments: [Durability.powerLoss, .process])
    func joining(_ durability: Durability) async throws {
        let store = try store(durability)
        let events = (0..<10).map { NewEvent(.sample("\($0)"), to: .home) }
        let asked = Mutex<[Int]>([])
        let refusals = try await store.append(
            [events[0]],
            joinedBy: { count in
                asked.withLock { $0.append(count) }
                return Array(events[count..<min(count + 4, events.count)])
            },
            now: Date()
        )
        #expect(asked.withLock { $0 } == (durability == .powerLoss ? [1, 5, 9, 10] : []))
        #expect(refusals.map { $0?.code } == Array(repeating: nil, count: durability == .powerLoss ? 10 : 1))
        let waiting = try await store.waiting(after: 0, limit: 20)
        #expect(waiting.map(\.envelope.id) == events.prefix(refusals.count).map(\.envelope.id))
    }

    @Test("a transaction that runs again, in a new file, stores everything that arrived")
    func again() async throws {
        let store = try store(.powerLoss)
        for ending in ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(at: folder.file("store.sqlite" + ending))
        }
        let events = (0..<5).map { NewEvent(.sample("\($0)"), to: .home) }
        let asked = Mutex<[Int]>([])
        let refusals = try await store.append(
            [events[0]],
            joinedBy: { count in
                asked.withLock { $0.append(count) }
                return Array(events[count...])
            },
            now: Date()
        )
        #expect(asked.withLock { $0 } == [1, 5, 1, 5])
        #expect(refusals.count == 5)
        #expect(try await store.waiting(after: 0, limit: 20).map(\.envelope.id) == events.map(\.envelope.id))
    }

    /// Whether one piece of work was committed when another one ran.
    private final class Sight: Sendable {
        let isCommitted = Mutex<Bool?>(nil)
    }

    @Test("other work that comes meanwhile shares the transaction", arguments: [Durability.powerLoss, .process])
    func sharing(_ durability: Durability) async throws {
        let commits = try store(durability).commits
        let seen = Sight()
        try await commits.perform(.write) { database, _ in
            try StateTable.set([1], for: "first", database)
            Task {
                try await commits.perform(.write) { _, _ in
                    // Another connection sees only what is committed.
                    let first = commits.look { try StateTable.value(for: "first", $0) }
                    seen.isCommitted.withLock { $0 = first != .some(nil) }
                }
            }
            let end = ContinuousClock.now.advanced(by: .seconds(60))
            while commits.waiting.withLock({ $0.jobs.isEmpty }), ContinuousClock.now < end {}
        }
        try await eventually("the second has run") { seen.isCommitted.withLock { $0 } != nil }
        #expect(seen.isCommitted.withLock { $0 } == (durability == .process))
    }

    @Test("tasks run on the database's thread, even when the store is closed")
    func executor() async throws {
        #expect(try store(.process).executor == nil)
        let store = try store(.powerLoss)
        let executor = try #require(store.executor)
        let refusals = try await Task(executorPreference: executor) {
            try await store.append([NewEvent(.sample("1"), to: .home)], now: Date())
        }.value
        #expect(refusals.count == 1)
        await store.close()
        let ran = await Task(executorPreference: executor) { true }.value
        #expect(ran)
    }
}
