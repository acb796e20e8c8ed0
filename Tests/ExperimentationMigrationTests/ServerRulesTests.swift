import Experimentation
import ExperimentationTesting
import Testing
import Waiting

@testable import ExperimentationMigration

/// A server asks for one user after another without sessions, and for the same ones again and again.
@Suite("Rules of a move on a server")
struct ServerRulesTests {
    private let time = ManualTime()
    private let old = InMemoryProvider(
        name: "old",
        flags: [InMemoryFlag("plain", "first")],
        freshness: Freshness(lifetime: .seconds(60))
    )
    private let new = InMemoryProvider(name: "new", freshness: Freshness(lifetime: .seconds(60)))
    private let users = ["ada", "ben", "ada", "ada", "ben"].map { User(id: $0) }

    private func client(on store: ClientStore = .inMemory()) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: MigrationPlan()),
            store: store,
            environment: ClientEnvironment(time: time)
        )
    }

    private func ask(_ client: ExperimentationClient) async -> [String?] {
        var values: [String?] = []
        for user in users { values.append(try? await client.decisions(for: user)["plain"]?.value.stringValue) }
        return values
    }

    @Test("users who come back cause no request to the vendor until its rules expire")
    func lifetime() async throws {
        let client = try await client()
        #expect(await ask(client) == Array(repeating: "first", count: 5))
        #expect(old.record.fetches == 1)
        old.replace(flags: [InMemoryFlag("plain", "second")])
        time.advance(by: .seconds(61))
        #expect(await ask(client) == Array(repeating: "second", count: 5))
        #expect(old.record.fetches == 2)
    }

    @Test("a session that refreshes again causes another request to the vendor")
    func session() async throws {
        let client = try await client()
        _ = await ask(client)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        old.replace(flags: [InMemoryFlag("plain", "second")])
        try await session.refresh(force: true)
        #expect(session.string("plain", default: "none") == "second")
    }

    @Test("a change that the vendor announces is fetched for the next user")
    func change() async throws {
        let client = try await client()
        _ = await ask(client)
        old.set(InMemoryFlag("plain", "second"))
        try await eventually("the next user gets the change") {
            try await client.decisions(for: User(id: "ada"))["plain"]?.value == "second"
        }
        #expect(old.record.fetches == 2)
    }

    @Test("a vendor that fails is asked again after two seconds, not for every user")
    func failure() async throws {
        let client = try await client()
        _ = await ask(client)
        time.advance(by: .seconds(61))
        old.setFailure(ExperimentationError(.transport, "gone"))
        for _ in 0..<4 { _ = await ask(client) }
        #expect(old.record.fetches == 2)
        // A user who already has decisions keeps the last answer.
        #expect(client.decisionsAtHand(for: User(id: "ada"))?["plain"]?.value == "first")
        time.advance(by: .seconds(3))
        old.setFailure(nil)
        #expect(await ask(client) == Array(repeating: "first", count: 5))
        #expect(old.record.fetches == 3)
    }

    @Test("a disabled vendor stays disabled for the lifetime of its rules, and isn't asked for every user")
    func disabled() async throws {
        let client = try await client()
        _ = await ask(client)
        old.setDisabled(true)
        time.advance(by: .seconds(61))
        #expect(await ask(client) == Array(repeating: nil, count: 5))
        #expect(old.record.fetches == 2)
        old.setDisabled(false)
        time.advance(by: .seconds(61))
        #expect(await ask(client) == Array(repeating: "first", count: 5))
        #expect(old.record.fetches == 3)
    }

    @Test("a disabled vendor that fails stays disabled for new users, even after a restart, until it answers")
    func disabledAndFailing() async throws {
        let store = ClientStore.inMemory()
        let first = try await client(on: store)
        _ = await ask(first)
        old.setDisabled(true)
        time.advance(by: .seconds(61))
        _ = await ask(first)
        old.setFailure(ExperimentationError(.transport, "gone"))
        time.advance(by: .seconds(61))
        let second = try await client(on: store)
        let parties = try [first, second].map { try Moves.migration(of: $0).old }
        func value(by party: Party, for user: String) async throws -> FlagValue? {
            try await party.answer(for: EvaluationContext(user: User(id: user), date: time.now))?.decisions["plain"]?
                .value
        }
        for party in parties {
            for user in ["cid", "dan"] { #expect(try await value(by: party, for: user) == nil) }
        }
        #expect(parties.map(\.isOff) == [true, true])
        old.setFailure(nil)
        old.setDisabled(false)
        time.advance(by: .seconds(61))
        for party in parties { #expect(try await value(by: party, for: "eve") == "first") }
        #expect(parties.map(\.isOff) == [false, false])
    }
}
