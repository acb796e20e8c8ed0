import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Assignments aren't overwritten before they have been read", .timeLimit(.minutes(1)))
struct UnreadAssignmentTests {
    /// A store that is slow to write the first rules, whose first reading of assignments fails if it should, and whose
    /// next one waits then.
    private struct Troubled: StateStoreDecorator {
        let baseState: any StateStore
        var fails = false
        let hasFailed = AsyncGate()
        let reached = AsyncGate()
        let mayWriteRules = AsyncGate()
        let mayRead = AsyncGate()

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            guard fails, key.contains("/assignments/") else { return try await baseState.value(for: key) }
            if !hasFailed.isOpen {
                hasFailed.open()
                throw ExperimentationError(.store, "another process keeps it locked")
            }
            await mayRead.wait()
            return try await baseState.value(for: key)
        }

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/ruleset"), !reached.isOpen {
                reached.open()
                await mayWriteRules.wait()
            }
            try await baseState.setValue(value, for: key)
        }
    }

    private let kept = InMemoryStateStore()
    private let provider = InMemoryProvider(experiments: AssignmentTests.arms(100, 0))

    private func session(
        _ state: any StateStore,
        _ userID: String,
        _ consent: Consent = .granted
    ) async throws -> UserSession {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: state)
        return try await ExperimentationClient(provider: provider, store: store)
            .session(for: User(id: userID, consent: consent))
    }

    /// The variation that a later run assigns, whatever the allocation is at that time.
    private func later(_ userID: String) async throws -> String {
        let session = try await session(kept, userID)
        try await session.refresh()
        return session.string("f", default: "")
    }

    @Test(
        "assignments of the user that the session gets while it waits for rules",
        arguments: [Identity(id: "bob"), Identity(id: "ada", isAuthenticated: true)]
    )
    func next(identity: Identity) async throws {
        try await session(kept, identity.id).refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let slow = Troubled(baseState: kept)
        let session = try await session(slow, "ada")
        let refreshing = Task { try await session.refresh() }
        await slow.reached.wait()
        session.identify(identity)
        slow.mayWriteRules.open()
        try await refreshing.value
        #expect(session.string("f", default: "") == "a")
        #expect(session.assignments.map(\.origin) == [.sticky])
        #expect(try await later(identity.id) == "a")
    }

    @Test("assignments that one refresh couldn't read, while another one reads them again")
    func again() async throws {
        try await session(kept, "ada").refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let troubled = Troubled(baseState: kept, fails: true)
        let session = try await session(troubled, "ada")
        let first = Task { try await session.refresh() }
        await troubled.reached.wait()
        let second = Task { try await session.refresh() }
        await yield(times: 500)
        troubled.mayWriteRules.open()
        await yield(times: 500)
        troubled.mayRead.open()
        try await first.value
        try await second.value
        try await session.refresh(force: true)
        #expect(session.string("f", default: "") == "a")
        #expect(try await later("ada") == "a")
    }

    @Test("assignments of an earlier run, while the user's consent isn't known yet")
    func consent() async throws {
        try await session(kept, "ada").refresh()
        provider.replace(flags: [], experiments: AssignmentTests.arms(0, 100))
        let session = try await session(kept, "ada", .unknown)
        try await session.refresh()
        try await session.setConsent(.granted)
        try await session.refresh(force: true)
        #expect(session.string("f", default: "") == "a")
        #expect(try await later("ada") == "a")
    }
}
