import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("The kill switch")
struct KillSwitchTests {
    /// A state store in which writing the kill switch waits.
    private struct SlowSwitch: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/kill-switch") {
                reached.open()
                await mayWrite.wait()
            }
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("whoever reports it returns once it is stored, also if another caller reported it first")
    func repeated() async throws {
        let slow = SlowSwitch()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ScriptedVendor().client(store: store)
        let first = Task { await client.core.killSwitch.set(true) }
        await slow.reached.wait()
        let hasReturned = Shared(false)
        let second = Task {
            await client.core.killSwitch.set(true)
            hasReturned.value = true
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!hasReturned.value)
        slow.mayWrite.open()
        await first.value
        await second.value
        #expect(try await store.state.keys(beginningWith: "").contains { $0.hasSuffix("/kill-switch") })
        await client.shutdown(within: .zero)
    }

    @Test("after many reports at once, deliveries, the stored value and the next read agree", arguments: 0..<20)
    func together(round: Int) async throws {
        let store = ClientStore.inMemory()
        let vendor = ScriptedVendor()
        let client = try await vendor.client(store: store)
        await withTaskGroup { group in
            for number in 0..<40 { group.addTask { await client.core.killSwitch.set(number.isMultiple(of: 2)) } }
        }
        let isOn = client.core.killSwitch.isOn
        let isStored = try await store.state.keys(beginningWith: "").contains { $0.hasSuffix("/kill-switch") }
        #expect(isStored == isOn)
        try await client.session(for: User(id: "ada", consent: .granted)).track(.numbered(1))
        #expect(try await client.flush(retrying: false).isDone == !isOn)
        await client.shutdown(within: .zero)
    }
}
