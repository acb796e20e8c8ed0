import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("A kept kill switch", .timeLimit(.minutes(1)))
struct KeptSwitchTests {
    /// Fails, or stops before each write, as a test asks it to.
    private final class Store: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let isFailing = Atomic(false)
        let writes = Atomic(0)
        let arrived = AsyncGate()
        let mayWrite = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            if isFailing.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
            return try await baseState.value(for: key)
        }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            writes.add(1, ordering: .relaxed)
            arrived.open()
            await mayWrite.wait()
            if isFailing.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
            try await baseState.setValue(value, for: key)
        }

        var isOn: Bool { get async throws { try await baseState.value(for: "key") != nil } }
    }

    @Test("a change whose write failed is written with the next call, and one that is stored isn't written again")
    func failing() async throws {
        let store = Store()
        store.mayWrite.open()
        let own = await KeptSwitch(in: store, as: "key")
        #expect(own.flip(to: true))
        store.isFailing.store(true, ordering: .relaxed)
        await #expect(throws: ExperimentationError.self) { try await own.store() }
        #expect(own.isOn)
        store.isFailing.store(false, ordering: .relaxed)
        #expect(!own.flip(to: true))
        for _ in 0..<3 { try await own.store() }
        #expect(try await store.isOn)
        #expect(store.writes.load(ordering: .relaxed) == 2)
        #expect(await KeptSwitch(in: store, as: "key").isOn)
    }

    @Test("one that couldn't be read is off, and the next run begins with what the vendor says in this one")
    func unreadable() async throws {
        let store = Store()
        store.mayWrite.open()
        try await store.baseState.setValue([1], for: "key")
        store.isFailing.store(true, ordering: .relaxed)
        let own = await KeptSwitch(in: store, as: "key")
        #expect(!own.isOn)
        store.isFailing.store(false, ordering: .relaxed)
        #expect(!own.flip(to: false))
        for _ in 0..<2 { try await own.store() }
        #expect(store.writes.load(ordering: .relaxed) == 1)
        #expect(await !KeptSwitch(in: store, as: "key").isOn)
    }

    @Test("of two quick changes the second one stays, although its caller comes while the first is being written")
    func quick() async throws {
        let store = Store()
        let own = await KeptSwitch(in: store, as: "key")
        _ = own.flip(to: true)
        let first = Task { try await own.store() }
        await store.arrived.wait()
        _ = own.flip(to: false)
        let second = Task { try await own.store() }
        store.mayWrite.open()
        try await first.value
        try await second.value
        #expect(try await store.isOn == false)
        #expect(store.writes.load(ordering: .relaxed) == 2)
    }

    @Test("a caller who is cancelled has the change stored all the same")
    func cancelled() async throws {
        let store = Store()
        let own = await KeptSwitch(in: store, as: "key")
        _ = own.flip(to: true)
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await own.store()
        }
        store.mayWrite.open()
        try await caller.value
        #expect(try await store.isOn)
    }
}
