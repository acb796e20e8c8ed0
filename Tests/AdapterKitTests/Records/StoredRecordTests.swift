import AdapterKit
import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("Stored records", .timeLimit(.minutes(1)))
struct StoredRecordTests {
    private struct Record: Codable, Equatable, Sendable {
        var name = "nobody"
        var count = 0
    }

    /// Counts writes, and fails as long as a test asks it to.
    private final class Store: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let writes = Atomic(0)
        let isFailing = Atomic(false)

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            if isFailing.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
            return try await baseState.value(for: key)
        }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if isFailing.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
            writes.add(1, ordering: .relaxed)
            try await baseState.setValue(value, for: key)
        }
    }

    private let store = Store()

    private func record(whenUnreadable: @escaping @Sendable () -> Void = {}) -> StoredRecord<Record> {
        StoredRecord(Record(), in: store, as: "key", whenUnreadable: whenUnreadable)
    }

    @Test("a change is in the store when it returns, and what changes nothing isn't written")
    func changes() async throws {
        let first = record()
        let count = try await first.update { record in
            record.count += 1
            return record.count
        }
        #expect(count == 1)
        try await first.update { $0.count = 1 }
        #expect(store.writes.load(ordering: .relaxed) == 1)
        let second = record()
        try await second.load()
        #expect(second.value == Record(name: "nobody", count: 1))
    }

    @Test("a change that couldn't be written is in the store with the next one")
    func failing() async throws {
        let first = record()
        try await first.load()
        store.isFailing.store(true, ordering: .relaxed)
        await #expect(throws: ExperimentationError.self) { try await first.update { $0.name = "ada" } }
        store.isFailing.store(false, ordering: .relaxed)
        try await first.update { $0.count = 2 }
        let second = record()
        try await second.load()
        #expect(second.value == Record(name: "ada", count: 2))
    }

    @Test("concurrent changes are all kept")
    func concurrent() async throws {
        let first = record()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { try await first.update { $0.count += 1 } } }
            try await group.waitForAll()
        }
        let second = record()
        try await second.load()
        #expect(second.value.count == 100)
    }

    @Test("a field that an earlier version didn't have is as in the initial record")
    func earlier() async throws {
        try await store.setValue(Array(#"{"count":7}"#.utf8), for: "key")
        let record = record()
        try await record.load()
        #expect(record.value == Record(name: "nobody", count: 7))
    }

    @Test("an unreadable record counts as missing, and is reported once", arguments: ["", "[]", #"{"count":"many"}"#])
    func unreadable(text: String) async throws {
        try await store.setValue(Array(text.utf8), for: "key")
        let count = Counter()
        let record = record { count.add() }
        for _ in 0..<2 { try await record.load() }
        #expect(record.value == Record() && count.value == 1)
    }

    @Test("while the store can't be read, no record counts as missing")
    func unavailable() async throws {
        try await store.setValue(Array(#"{"count":7}"#.utf8), for: "key")
        store.isFailing.store(true, ordering: .relaxed)
        let record = record()
        await #expect(throws: ExperimentationError.self) { try await record.update { $0.name = "ada" } }
        store.isFailing.store(false, ordering: .relaxed)
        try await record.update { $0.name = "ada" }
        #expect(record.value == Record(name: "ada", count: 7))
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.add(1, ordering: .relaxed) }
    }
}
