import Experimentation
import ExperimentationTesting
import GatewayWaiting
import PostgresServers
import Synchronization
import Testing

@testable import ExperimentationPostgres

/// A vendor's rules that fail when a test wants it.
private final class FailingRules: RulesetSource {
    let freshness = Freshness(lifetime: .seconds(3_600))
    private let state = Mutex((fetches: 0, fails: true))

    var fetches: Int { state.withLock { $0.fetches } }
    func recover() { state.withLock { $0.fails = false } }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let fails = state.withLock { state in
            state.fetches += 1
            return state.fails
        }
        if fails { throw ExperimentationError(.transport, "gone") }
        return .replaced(NoRules(), validator: "1", raw: [1])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { NoRules() }
}

private struct NoRules: Ruleset {
    let catalogue = FlagCatalogue(flags: [], assignments: [])
    func decisions(for context: EvaluationContext) -> Decisions { Decisions(catalogue: catalogue, outcomes: []) }
}

/// A vendor that announces no changes, and notes which rules are used.
private final class NotedRules: ExperimentationProvider, RulesetSource {
    let name = "noted"
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .localEvaluation]
    let freshness = Freshness(lifetime: .seconds(3_600))
    private let used = Mutex<Set<[UInt8]>>([])

    func uses(_ raw: [UInt8]) -> Bool { used.withLock { $0.contains(raw) } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .computed(self))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        .replaced(NoRules(), validator: "1", raw: [1])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        used.withLock { _ = $0.insert(raw) }
        return NoRules()
    }
}

@Suite("Rules that machines share")
struct SharedRulesTests {
    @Test("after a failure the vendor is asked again in seconds, however long its rules are valid")
    func retry() async throws {
        let schema = newSchema()
        let store = try await opened(schema)
        let source = FailingRules()
        let rules = SharedRules(
            source,
            RulesBoard(store.pool, name: "a"),
            lease: .seconds(60),
            time: SystemTime(),
            isAway: { false }
        )
        await #expect(throws: ExperimentationError.self) { try await rules.ruleset(ifNot: nil) }
        // Others that ask at the same time share the failure.
        await #expect(throws: ExperimentationError.self) { try await rules.ruleset(ifNot: nil) }
        #expect(source.fetches == 1)
        source.recover()
        try PostgresServer.shared.ask("UPDATE \(schema).published SET attempted = attempted - interval '6 s'")
        guard case .replaced = try await rules.ruleset(ifNot: nil) else {
            Issue.record("the vendor wasn't asked")
            return
        }
        #expect(source.fetches == 2)
        await store.close()
    }

    @Test("a change that couldn't be read when it was seen is read later, however long rules are valid")
    func busy() async throws {
        let schema = newSchema()
        let store = try await opened(schema, connections: 1, patience: .seconds(1))
        let vendor = NotedRules()
        let client = try await ExperimentationClient(provider: store.sharing(vendor), store: store.clientStore)
        try await client.refresh()
        #expect(vendor.uses([1]))
        // The only connection is taken for longer than any operation waits; the watch has one of its own.
        let pool = store.pool
        async let taken: Void = pool.transaction(.repeatable, within: .seconds(30)) {
            transaction throws(ConnectionFailure) in _ = try transaction.rows(Statement("SELECT pg_sleep(4)"))
        }
        let sleepers = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(4)' AND state = 'active'"
        try await eventually("the connection is taken") { try PostgresServer.shared.ask(sleepers) == "1\n" }
        // As another machine would.
        try PostgresServer.shared.ask("UPDATE \(schema).published SET revision = revision + 1, body = '\\x02'")
        try await taken
        try await eventually("the change is in use", within: .seconds(30)) { vendor.uses([2]) }
        await client.shutdown(within: .zero)
        await store.close()
    }
}
