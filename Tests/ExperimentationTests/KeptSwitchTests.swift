import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@Suite("A stored kill switch", .timeLimit(.minutes(1)))
struct KeptSwitchTests {
    /// Fails, or stops before its first write, as a test asks it to.
    private final class Store: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let isFailing = Atomic(false)
        let isUnreadable = Atomic(false)
        let writes = Atomic(0)
        let arrived = AsyncGate()
        let mayWrite = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            if isUnreadable.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
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

    private let time = ManualTime()

    private func made(in store: any StateStore) async -> KeptSwitch {
        await KeptSwitch(in: store, as: "key", time: time, patience: ReadingPatience(by: time))
    }

    @Test("a change whose write failed is written two seconds later, and one that is stored isn't written again")
    func failing() async throws {
        let store = Store()
        store.mayWrite.open()
        let own = await made(in: store)
        #expect(own.flip(to: true))
        store.isFailing.store(true, ordering: .relaxed)
        for _ in 0..<3 { await #expect(throws: ExperimentationError.self) { try await own.store() } }
        #expect(own.isOn)
        #expect(store.writes.load(ordering: .relaxed) == 1)
        store.isFailing.store(false, ordering: .relaxed)
        #expect(!own.flip(to: true))
        time.advance(by: .seconds(2))
        for _ in 0..<3 { try await own.store() }
        #expect(try await store.isOn)
        #expect(store.writes.load(ordering: .relaxed) == 2)
        #expect(await made(in: store).isOn)
    }

    @Test("a caller that waits for a write that fails gets its error, but a later change is written at once")
    func waiting() async throws {
        let store = Store()
        let own = await made(in: store)
        _ = own.flip(to: true)
        store.isFailing.store(true, ordering: .relaxed)
        let callers = (0..<3).map { _ in Task { try await own.store() } }
        await store.arrived.wait()
        store.mayWrite.open()
        for caller in callers { await #expect(throws: ExperimentationError.self) { try await caller.value } }
        #expect(store.writes.load(ordering: .relaxed) == 1)
        store.isFailing.store(false, ordering: .relaxed)
        _ = own.flip(to: false)
        try await own.store()
        #expect(store.writes.load(ordering: .relaxed) == 2)
    }

    @Test("a switch that couldn't be read counts as off, and is stored as off once the vendor says so")
    func unread() async throws {
        let store = Store()
        store.mayWrite.open()
        try await store.setValue([1], for: "key")
        store.isUnreadable.store(true, ordering: .relaxed)
        let own = await time.passing { await made(in: store) }
        #expect(!own.isOn)
        store.isUnreadable.store(false, ordering: .relaxed)
        #expect(!own.flip(to: false))
        try await own.store()
        #expect(await !made(in: store).isOn)
    }

    @Test("a switch that can't be read for a moment is read again", .timeLimit(.minutes(1)))
    func readAgain() async throws {
        let store = InMemoryStateStore()
        try await store.setValue([1], for: "key")
        let failing = FailingReads(3, of: store)
        let own = await time.passing { await made(in: failing) }
        #expect(own.isOn)
    }

    @Test("of two quick changes the second one stays, although its caller comes while the first is being written")
    func quick() async throws {
        let store = Store()
        let own = await made(in: store)
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

    @Test("a cancelled caller's change is stored nevertheless")
    func cancelled() async throws {
        let store = Store()
        let own = await made(in: store)
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
