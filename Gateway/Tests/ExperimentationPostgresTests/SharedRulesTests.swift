import Experimentation
import ExperimentationTesting
import PostgresServers
import Synchronization
import Testing

@testable import ExperimentationPostgres

/// A vendor's rules that a test has fail.
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
}
