import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Assignments are kept even if their store is slow or fails", .timeLimit(.minutes(1)))
struct KeptAssignmentTests {
    /// A store whose first reading of assignments waits, or that fails at it.
    private struct TroubledReading: StateStoreDecorator {
        let baseState: any StateStore
        var fails = false
        let reached = AsyncGate()
        let mayRead = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            guard key.contains("/assignments/"), !reached.isOpen else { return try await baseState.value(for: key) }
            reached.open()
            if fails { throw ExperimentationError(.store, "another process keeps it locked") }
            await mayRead.wait()
            return try await baseState.value(for: key)
        }
    }

    /// A store whose first writing of assignments waits, and no other one.
    private struct SlowWriting: StateStoreDecorator {
        let baseState: any StateStore
        let reached = AsyncGate()
        let mayWrite = AsyncGate()

        func update(
            _ key: String,
            to value: [UInt8]?,
            if expected: [UInt8]?
        ) async throws(ExperimentationError) -> StateUpdate {
            if key.contains("/assignments/"), !reached.isOpen {
                reached.open()
                await mayWrite.wait()
            }
            return try await baseState.update(key, to: value, if: expected)
        }
    }

    private let kept = InMemoryStateStore()
    private let provider = InMemoryProvider(experiments: AssignmentTests.arms(100, 0))

    private func session(_ state: any StateStore, consent: Consent = .granted) async throws -> UserSession {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        return try await ExperimentationClient(provider: provider, store: store)
            .session(for: User(id: "ada", consent: consent))
    }

    /// The variation that a later run assigns, whatever the allocation is at that time.
    private func later() async throws -> String {
        let session = try await session(kept)
        try await session.refresh()
        return session.string("f", default: "")
    }

    @Test("two concurrent refreshes both honor assignments that are still being read")
    func together() async throws {
        try await session(kept).refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let slow = TroubledReading(baseState: kept)
        let session = try await session(slow)
        let first = Task { try await session.refresh() }
        await slow.reached.wait()
        let second = Task { try await session.refresh() }
        for _ in 0..<500 { await Task.yield() }
        slow.mayRead.open()
        try await first.value
        try await second.value
        #expect(session.string("f", default: "") == "a")
        #expect(session.assignments.map(\.origin) == [.sticky])
        #expect(try await later() == "a")
    }

    @Test("assignments that couldn't be read are read with the next refresh, and not overwritten before")
    func unread() async throws {
        try await session(kept).refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let session = try await session(TroubledReading(baseState: kept, fails: true))
        try await session.refresh()
        #expect(try await later() == "a")
        try await session.refresh(force: true)
        #expect(session.string("f", default: "") == "a")
        #expect(try await later() == "a")
    }

    /// A store that has read assignments, and is slow to return them.
    private struct LateReading: StateStoreDecorator {
        let baseState: any StateStore
        let reached = AsyncGate()
        let mayReturn = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            let value = try await baseState.value(for: key)
            if key.contains("/assignments/") {
                reached.open()
                await mayReturn.wait()
            }
            return value
        }
    }

    @Test("assignments that a denial removes while they are being read aren't honored, even if the user consents again")
    func removed() async throws {
        try await session(kept).refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let slow = LateReading(baseState: kept)
        let session = try await session(slow)
        let refreshing = Task { try await session.refresh() }
        await slow.reached.wait()
        for consent in [Consent.denied, .granted] { try await session.setConsent(consent) }
        slow.mayReturn.open()
        try await refreshing.value
        #expect(session.string("f", default: "") == "b")
        #expect(try await later() == "b")
    }

    @Test("of two lists written at once the longer one stays")
    func order() async throws {
        let slow = SlowWriting(baseState: kept)
        let session = try await session(slow)
        let first = Task { try await session.refresh() }
        await slow.reached.wait()
        provider.replace(flags: [], experiments: AssignmentTests.arms(100, 0) + Self.others(100, 0))
        let second = Task { try await session.refresh(force: true) }
        for _ in 0..<500 { await Task.yield() }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100) + Self.others(0, 100))
        let again = try await self.session(kept)
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
        #expect(again.string("g", default: "") == "a")
    }

    @Test(
        "a list that waits to be written is written even if its user has left",
        arguments: [["bob"], ["bob", "ada"]]
    )
    func left(way: [String]) async throws {
        let slow = SlowWriting(baseState: kept)
        let session = try await session(slow)
        let first = Task { try await session.refresh() }
        await slow.reached.wait()
        provider.replace(flags: [], experiments: AssignmentTests.arms(100, 0) + Self.others(100, 0))
        let second = Task { try await session.refresh(force: true) }
        for _ in 0..<500 { await Task.yield() }
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100) + Self.others(0, 100))
        for id in way { session.identify(Identity(id: id)) }
        slow.mayWrite.open()
        try await first.value
        try await second.value
        try await session.refresh(force: true)
        #expect(session.string("g", default: "") == (way.last == "ada" ? "a" : "b"))
        let again = try await self.session(kept)
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
        #expect(again.string("g", default: "") == "a")
    }

    @Test("two sessions of one user store their assignments beside each other's", arguments: [false, true])
    func sessions(areOfOneClient: Bool) async throws {
        provider.replace(flags: [], experiments: [])
        let client = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: InMemoryOutboxStore(), state: kept)
        )
        let user = User(id: "ada", consent: .granted)
        let first = client.session(for: user)
        let second = areOfOneClient ? client.session(for: user) : try await session(kept)
        for session in [first, second] { try await session.refresh() }
        provider.replace(flags: [], experiments: AssignmentTests.arms(100, 0))
        try await first.refresh(force: true)
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100) + Self.others(100, 0))
        try await second.refresh(force: true)
        #expect(second.string("f", default: "") == "a")
        #expect(second.assignments.map(\.origin) == [.sticky, .sticky])
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100) + Self.others(0, 100))
        let again = try await session(kept)
        try await again.refresh()
        #expect(again.string("f", default: "") == "a")
        #expect(again.string("g", default: "") == "a")
    }

    @Test("an assignment from the application replaces the one another session has stored, and leaves the rest")
    func honored() async throws {
        provider.replace(flags: [], experiments: AssignmentTests.arms(100, 0) + Self.others(100, 0))
        let session = try await session(kept)
        session.honor(["e": "b"])
        try await self.session(kept).refresh()
        try await session.refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(100, 0) + Self.others(0, 100))
        let again = try await self.session(kept)
        try await again.refresh()
        #expect(again.string("f", default: "") == "b")
        #expect(again.string("g", default: "") == "a")
    }

    @Test("a stored list that was changed outside is replaced")
    func tampered() async throws {
        try await session(kept).refresh()
        let session = try await session(kept)
        let key = try #require(try await kept.keys(beginningWith: "").first { $0.contains("/assignments/") })
        var bytes = try #require(try await kept.value(for: key))
        bytes[bytes.count - 1] ^= 1
        try await kept.setValue(bytes, for: key)
        try await session.refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        #expect(try await later() == "a")
    }

    private static func others(_ a: Double, _ b: Double) -> [InMemoryExperiment] {
        [
            InMemoryExperiment(
                Experiment(id: "g"),
                arms: [
                    .init(Variation(id: "a"), weight: a, flags: ["g": "a"]),
                    .init(Variation(id: "b"), weight: b, flags: ["g": "b"]),
                ]
            )
        ]
    }

    @Test(
        "assignments being written while their user denies consent don't stay, in whichever session the user does so",
        arguments: [true, false]
    )
    func deniedMeanwhile(isElsewhere: Bool) async throws {
        let slow = SlowWriting(baseState: kept)
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: slow)
        let client = try await ExperimentationClient(provider: provider, store: store)
        let user = User(id: "ada", consent: .granted)
        let session = client.session(for: user)
        let refresh = Task { try await session.refresh() }
        await slow.reached.wait()
        if isElsewhere {
            try await client.setConsent(.denied, for: user)
        } else {
            try await session.setConsent(.denied)
            session.identify(Identity(id: "guest"))
        }
        slow.mayWrite.open()
        try await refresh.value
        #expect(try await kept.keys(beginningWith: "").allSatisfy { !$0.contains("/assignments/" + Digest.hex("ada")) })
        await client.shutdown(within: .zero)
    }
}
