import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Rules of an earlier run")
struct RestoredRulesTests {
    @Test("after a restart with the vendor away, the rules of the run before decide for new users")
    func restart() async throws {
        let moves = Moves()
        let first = try await moves.client()
        let color = try await Moves.color("ada", by: first)
        await first.shutdown(within: .zero)
        moves.old.setFailure(ExperimentationError(.transport, "away"))
        let second = try await moves.client()
        let session = second.session(for: User(id: "ada", consent: .granted))
        try? await session.refresh()
        #expect(session.string("f0", default: "none") == color)
        #expect(session.details("f0", default: "none").reason == .cached)
        #expect(["grey", "green"].contains(try await Moves.color("ben", by: second)))
        await second.shutdown(within: .zero)
    }

    @Test("rules that can't be read at first are read with the next request")
    func unreadable() async throws {
        let vendor = InMemoryProvider()
        guard case .computed(let source) = vendor.roles.decisions else { return }
        let state = InMemoryStateStore()
        _ = try await PartyRules(source, in: ProviderContext(state: state))
            .current(for: "ada", inSession: true, isForced: false)
        vendor.setFailure(ExperimentationError(.transport, "away"))
        let unreadable = UnreadableState(state, failing: "migration/rules")
        let rules = PartyRules(source, in: ProviderContext(state: unreadable))
        await #expect(throws: ExperimentationError.self) {
            try await rules.current(for: "ada", inSession: true, isForced: false)
        }
        #expect(try await rules.current(for: "ada", inSession: true, isForced: false) != nil)
    }

    /// A store whose first read waits until a test lets it go.
    private final class SlowStore: StateStoreDecorator {
        let baseState: any StateStore
        let gate = AsyncGate()
        let reads = Mutex(0)

        init(_ state: any StateStore) { baseState = state }

        func pass<Value: Sendable>(
            _ operation: StoreOperation,
            _ body: () async throws(ExperimentationError) -> Value
        ) async throws(ExperimentationError) -> Value {
            reads.withLock { $0 += 1 }
            _ = await gate.wait()
            return try await body()
        }
    }

    @Test("a caller that asks for the available rules while they are being read gets them too")
    func atOnce() async throws {
        let vendor = InMemoryProvider()
        guard case .computed(let source) = vendor.roles.decisions else { return }
        let state = InMemoryStateStore()
        _ = try await PartyRules(source, in: ProviderContext(state: state))
            .current(for: "ada", inSession: true, isForced: false)
        let slow = SlowStore(state)
        let rules = PartyRules(source, in: ProviderContext(state: slow))
        async let one = rules.atHand()
        try await eventually("the store is asked") { slow.reads.withLock { $0 } > 0 }
        let two = Task { await rules.atHand() != nil }
        // Lets the second caller look before the first is done.
        for _ in 0..<100 { await Task.yield() }
        slow.gate.open()
        #expect(await one != nil)
        #expect(await two.value)
    }

    @Test("a cancellation that a vendor reports as a failed connection counts as a cancellation")
    func wrapped() async throws {
        let source = WrappingSource()
        let rules = PartyRules(source, in: ProviderContext())
        let cancelled = Task { try await rules.current(for: "ada", inSession: false, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        cancelled.cancel()
        await #expect(throws: ExperimentationError.self) { try await cancelled.value }
        #expect(try await rules.current(for: "ben", inSession: false, isForced: false) != nil)
    }

    private final class WrappingSource: RulesetSource {
        let fetches = Mutex(0)
        let never = AsyncGate()
        var freshness: Freshness { Freshness() }

        func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
            let number = fetches.withLock { fetches in
                fetches += 1
                return fetches
            }
            if number == 1 {
                _ = await never.wait()
                throw ExperimentationError(.transport, "the connection was closed")
            }
            return .replaced(NoRules(), validator: nil, raw: [])
        }

        func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { NoRules() }
    }

    private struct NoRules: Ruleset {
        var catalogue: FlagCatalogue { Decisions.none.catalogue }
        func decisions(for context: EvaluationContext) -> Decisions { .none }
    }
}
