import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("A denial removes a user's stored data, and is owed if it fails to")
struct ForgettingTests {
    private let vendor = ScriptedVendor(needsConsent: true)

    /// A store that is slow to remove a user's data, and then fails.
    private struct FailingToForget: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayFail = AsyncGate()

        func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
            guard prefixes.contains(where: { $0.contains("/decisions/") }) else {
                return try await baseState.removeAll(beginningWith: prefixes)
            }
            reached.open()
            await mayFail.wait()
            throw ExperimentationError(.store, "The disk failed.")
        }
    }

    @Test("a denial whose consequences fail is no longer owed once its user has consented again in another session")
    func agreedElsewhere() async throws {
        let state = FailingToForget()
        let client = try await vendor.client(store: ClientStore(outbox: InMemoryOutboxStore(), state: state))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let denying = Task { try await ada.setConsent(.denied) }
        await state.reached.wait()
        let again = client.session(for: User(id: "ada"))
        try await again.setConsent(.granted)
        try await again.track(.numbered(1))
        state.mayFail.open()
        await #expect(throws: ExperimentationError.self) { try await denying.value }
        try await again.track(.numbered(2))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(vendor.record.received.compactMap(\.event.number) == [1, 2])
        #expect(try await client.ledger().purged == 0)
    }

    @Test("a denial whose consequences fail is owed, whatever the user agreed to before")
    func deniedElsewhere() async throws {
        let state = FailingToForget()
        let client = try await vendor.client(store: ClientStore(outbox: InMemoryOutboxStore(), state: state))
        let ada = client.session(for: User(id: "ada", consent: .granted))
        state.mayFail.open()
        try await ada.setConsent(.granted)
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(client.core.outbox.owed.users.map(\.text) == ["ada"])
    }

    @Test(
        "a user's stored data is removed when a session begins as denied, even if the store fails at first",
        arguments: [0..<0, 0..<1, 0..<3]
    )
    func deniedFromTheStart(failing: Range<Int>) async throws {
        let store = FailingStore(failing: failing, of: [.removeAll])
        let key = "\(vendor.destination.account.prefix(32))/decisions/\(Digest.hex("ada"))"
        try await store.setValue([1], for: key)
        let client = try await vendor.client(store: ClientStore(outbox: store, state: store))
        _ = client.session(for: User(id: "ada", consent: .denied))
        for _ in failing { _ = try await client.flush(retrying: false) }
        _ = try await client.flush(retrying: false)
        #expect(try await store.value(for: key) == nil)
        #expect(try await store.keys(beginningWith: "").isEmpty)
    }

    /// A store that is slow to write assignments.
    private struct SlowAssignments: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func update(
            _ key: String,
            to value: [UInt8]?,
            if expected: [UInt8]?
        ) async throws(ExperimentationError) -> StateUpdate {
            if key.contains("/assignments/") {
                reached.open()
                await mayWrite.wait()
            }
            return try await baseState.update(key, to: value, if: expected)
        }
    }

    @Test("an assignment that is being stored when its user denies consent isn't kept")
    func assignmentDuringDenial() async throws {
        let arm = InMemoryExperiment.Arm(Variation(id: "a"), weight: 100, flags: ["f": "a"])
        let provider = InMemoryProvider(experiments: [InMemoryExperiment(Experiment(id: "e"), arms: [arm])])
        let state = SlowAssignments()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let client = try await ExperimentationClient(provider: provider, store: store)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let refreshing = Task { try await ada.refresh() }
        await state.reached.wait()
        try await ada.setConsent(.denied)
        state.mayWrite.open()
        try await refreshing.value
        #expect(try await state.keys(beginningWith: "").allSatisfy { !$0.contains("/assignments/") })
        #expect(ada.string("f", default: "") == "a")
    }

    @Test("a user's stored data is removed when a session begins as denied, even if the vendor takes no events")
    func deniedWithoutEvents() async throws {
        let provider = GatedProvider(source: GatedSource())
        let key = "\(provider.destination.account.prefix(32))/decisions/\(Digest.hex("ada"))"
        let state = InMemoryStateStore()
        try await state.setValue([1], for: key)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let client = try await ExperimentationClient(provider: provider, store: store)
        _ = client.session(for: User(id: "ada", consent: .denied))
        await client.core.outbox.drain()
        #expect(try await state.keys(beginningWith: "").isEmpty)
    }

    @Test(
        "consent ends a denial whose consequences fail, before or after that, even if the vendor takes no events",
        arguments: [true, false]
    )
    func agreedWithoutEvents(hasFailed: Bool) async throws {
        let state = FailingToForget()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let provider = GatedProvider(source: GatedSource())
        let client = try await ExperimentationClient(provider: provider, store: store)
        let outbox = client.core.outbox
        _ = client.session(for: User(id: "ada", consent: .denied))
        await state.reached.wait()
        if hasFailed {
            state.mayFail.open()
            await outbox.drain()
            #expect(outbox.owed.users.map(\.text) == ["ada"])
        }
        _ = client.session(for: User(id: "ada", consent: .granted))
        state.mayFail.open()
        await outbox.drain()
        #expect(outbox.owed.users.isEmpty)
        #expect(try await state.keys(beginningWith: "").isEmpty)
    }
}
