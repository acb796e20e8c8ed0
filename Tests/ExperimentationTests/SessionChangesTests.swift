import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("A session's announcements of what it reads")
struct SessionChangesTests {
    private func client(
        freshness: Freshness = Freshness(),
        time: ManualTime = ManualTime()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: InMemoryProvider(flags: [InMemoryFlag("a", 1)], freshness: freshness),
            environment: ClientEnvironment(time: time)
        )
    }

    @Test("a change that is under way when somebody begins to listen is announced")
    func underWay() async throws {
        let client = try await client()
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        var heard: AsyncStream<DecisionChange>?
        session.update { former in
            // They still read the former value.
            heard = session.changes
            return Snapshot(
                decisions: .none,
                context: former.context,
                origin: .fresh,
                date: former.date,
                instant: former.instant,
                revision: former.revision
            )
        }
        // Whatever else they hear comes after it.
        client.overrideFlag("b", with: 1)
        var changes = try #require(heard).makeAsyncIterator()
        #expect(await changes.next() == DecisionChange(flags: ["a"], status: .ready))
        await client.shutdown()
    }

    @Test("they end with the client, also for those who begin to listen later", .timeLimit(.minutes(1)))
    func end() async throws {
        let client = try await client()
        let sessions = ["ada", "bob"].map { client.session(for: User(id: $0)) }
        let before = sessions.map(\.changes)
        await client.shutdown()
        for changes in before + sessions.map(\.changes) {
            for await _ in changes {}
        }
        // Still in use until here, so that it isn't their own end.
        #expect(sessions.map(\.user.id) == ["ada", "bob"])
    }

    @Test("overdue decisions that can't be read are none, and each flag of the next ones is announced")
    func overdue() async throws {
        let time = ManualTime()
        let client = try await client(freshness: Freshness(lifetime: .seconds(10), afterExpiry: .notReady), time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(11))
        #expect(session.int("a", default: 0) == 0)
        #expect(session.decisions == .none)
        var changes = session.changes.makeAsyncIterator()
        try await session.refresh()
        #expect(session.int("a", default: 0) == 1)
        #expect(await changes.next() == DecisionChange(flags: ["a"], status: .ready))
        await client.shutdown()
    }

    @Test("overdue decisions that can be read are there, and only flags that differ are announced")
    func overdueButRead() async throws {
        let time = ManualTime()
        let client = try await client(freshness: Freshness(lifetime: .seconds(10)), time: time)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        time.advance(by: .seconds(11))
        #expect(session.decisions["a"]?.value == 1)
        var changes = session.changes.makeAsyncIterator()
        try await session.refresh()
        #expect(await changes.next() == DecisionChange(flags: [], status: .ready))
        await client.shutdown()
    }
}
