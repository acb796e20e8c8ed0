import ExperimentationTesting
import Testing
import Waiting

@testable import Experimentation

@Suite("Assignments that are forced or kept")
struct AssignmentTests {
    @Test("an override is honored, visible, kept over a restart, and not made sticky")
    func overrides() async throws {
        let store = ClientStore.inMemory()
        let experiment = InMemoryExperiment(
            Experiment(id: "e"),
            arms: [
                .init(Variation(id: "a", isControl: true), weight: 100, flags: ["f": "a"]),
                .init(Variation(id: "b"), weight: 0, flags: ["f": "b"]),
            ]
        )
        let provider = InMemoryProvider(experiments: [experiment])
        let client = try await ExperimentationClient(provider: provider, store: store)
        try await client.force(.include(experiment: "e", variation: "b"))
        let second = try await ExperimentationClient(provider: provider, store: store)
        let session = second.session(for: User(id: "ada"))
        try await session.refresh()
        #expect(session.string("f", default: "") == "b")
        #expect(session.assignments.map(\.origin) == [.forcedHere])
        await second.removeOverrides()
        try await session.refresh()
        #expect(session.string("f", default: "") == "a")
        try await second.force(.exclude(experiment: "e"))
        try await session.refresh()
        #expect(session.assignments == [])
    }

    /// A store that is slow to write overrides.
    private struct SlowOverrides: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/overrides"), !reached.isOpen {
                reached.open()
                await mayWrite.wait()
            }
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("of two overrides at the same time both are kept over a restart", .timeLimit(.minutes(1)))
    func concurrentOverrides() async throws {
        let slow = SlowOverrides()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: InMemoryProvider(), store: store)
        let overrides = ["one", "two"].map { AssignmentOverride.exclude(experiment: $0) }
        let first = Task { try await client.force(overrides[0]) }
        await slow.reached.wait()
        let second = Task { try await client.force(overrides[1]) }
        try await eventually("the second is in force") { client.overrides.count == 2 }
        for _ in 0..<200 { await Task.yield() }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        #expect(try await ExperimentationClient(provider: InMemoryProvider(), store: store).overrides == overrides)
    }

    /// An experiment with two variations and their weights.
    static func arms(_ a: Double, _ b: Double) -> [InMemoryExperiment] {
        [
            InMemoryExperiment(
                Experiment(id: "e"),
                arms: [
                    .init(Variation(id: "a"), weight: a, flags: ["f": "a"]),
                    .init(Variation(id: "b"), weight: b, flags: ["f": "b"]),
                ]
            )
        ]
    }

    @Test("an assignment stays when the allocation changes, and over a restart")
    func sticky() async throws {
        let store = ClientStore.inMemory()
        let provider = InMemoryProvider(experiments: Self.arms(100, 0))
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        provider.replace(flags: [], experiments: Self.arms(0, 100))
        try await session.refresh(force: true)
        #expect(session.string("f", default: "") == "a")
        let second = try await ExperimentationClient(provider: provider, store: store)
        let later = second.session(for: User(id: "ada", consent: .granted))
        try await later.refresh()
        #expect(later.string("f", default: "") == "a")
        #expect(later.assignments.map(\.origin) == [.sticky])
        let other = second.session(for: User(id: "bob", consent: .granted))
        try await other.refresh()
        #expect(other.string("f", default: "") == "b")
    }

    /// A store that can't write assignments at first.
    private struct FailingAssignments: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let hasFailed = Shared(false)

        func update(
            _ key: String,
            to value: [UInt8]?,
            if expected: [UInt8]?
        ) async throws(ExperimentationError) -> StateUpdate {
            if key.contains("/assignments/"), !hasFailed.value {
                hasFailed.value = true
                throw ExperimentationError(.store, "full")
            }
            return try await baseState.update(key, to: value, if: expected)
        }
    }

    @Test("an assignment that couldn't be stored is stored with the next refresh")
    func stickyAfterFailure() async throws {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: FailingAssignments())
        let provider = InMemoryProvider(experiments: Self.arms(100, 0))
        let ada = User(id: "ada", consent: .granted)
        let session = try await ExperimentationClient(provider: provider, store: store).session(for: ada)
        for _ in 0..<2 { try await session.refresh(force: true) }
        provider.replace(flags: [], experiments: Self.arms(0, 100))
        let again = try await ExperimentationClient(provider: provider, store: store).session(for: ada)
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
        #expect(again.assignments.map(\.origin) == [.sticky])
    }

    /// A store that is slow to return from writing assignments.
    private struct LateAssignments: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let isWritten = AsyncGate()
        let mayReturn = AsyncGate()

        func update(
            _ key: String,
            to value: [UInt8]?,
            if expected: [UInt8]?
        ) async throws(ExperimentationError) -> StateUpdate {
            let update = try await baseState.update(key, to: value, if: expected)
            if key.contains("/assignments/") {
                isWritten.open()
                await mayReturn.wait()
            }
            return update
        }
    }

    @Test(
        "an assignment that a denial removes while its write returns is stored again once the user consents again",
        .timeLimit(.minutes(1))
    )
    func removedMeanwhile() async throws {
        let state = LateAssignments()
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        let provider = InMemoryProvider(experiments: Self.arms(100, 0))
        let ada = User(id: "ada", consent: .granted)
        let session = try await ExperimentationClient(provider: provider, store: store).session(for: ada)
        let refreshing = Task { try await session.refresh() }
        await state.isWritten.wait()
        for consent in [Consent.denied, .granted] { try await session.setConsent(consent) }
        state.mayReturn.open()
        try await refreshing.value
        try await session.refresh(force: true)
        provider.replace(flags: [], experiments: Self.arms(0, 100))
        let again = try await ExperimentationClient(provider: provider, store: store).session(for: ada)
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
    }

    @Test("an assignment of an earlier run is honored once the user has consented, after a refresh without consent")
    func restoredAfterConsent() async throws {
        let store = ClientStore.inMemory()
        let provider = InMemoryProvider(experiments: Self.arms(100, 0))
        let ada = User(id: "ada", consent: .granted)
        try await ExperimentationClient(provider: provider, store: store).session(for: ada).refresh()
        provider.replace(flags: [])
        let session = try await ExperimentationClient(provider: provider, store: store).session(for: User(id: "ada"))
        try await session.refresh()
        try await session.setConsent(.granted)
        provider.replace(flags: [], experiments: Self.arms(0, 100))
        for _ in 0..<2 { try await session.refresh(force: true) }
        #expect(session.string("f", default: "") == "a")
        #expect(session.assignments.map(\.origin) == [.sticky])
    }

    @Test(
        "an assignment from before the user consented is stored with the next refresh, even after a denial",
        arguments: [(Consent.unknown, [Consent.granted]), (.granted, [.denied, .granted])]
    )
    func stickyAfterConsent(first: Consent, later: [Consent]) async throws {
        let store = ClientStore.inMemory()
        let provider = InMemoryProvider(experiments: Self.arms(100, 0))
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", consent: first))
        try await session.refresh()
        for consent in later { try await session.setConsent(consent) }
        try await session.refresh(force: true)
        provider.replace(flags: [], experiments: Self.arms(0, 100))
        let second = try await ExperimentationClient(provider: provider, store: store)
        let again = second.session(for: User(id: "ada", consent: .granted))
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
        #expect(again.assignments.map(\.origin) == [.sticky])
    }
}
