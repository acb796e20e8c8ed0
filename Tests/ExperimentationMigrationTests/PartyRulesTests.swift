import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Rules of one side of a move", .timeLimit(.minutes(10)))
struct PartyRulesTests {
    /// A vendor whose first answer comes only when a test wants it, unless the request is cancelled.
    private final class StuckSource: RulesetSource {
        let fetches = Mutex(0)
        let stuck = AsyncGate()
        /// How the first request fails; `nil` if it doesn't.
        let failure: ErrorCode?
        /// The answer to later requests.
        let later: RulesetAnswer
        var freshness: Freshness { Freshness(lifetime: .seconds(60)) }

        init(
            failure: ErrorCode? = nil,
            later: RulesetAnswer = .replaced(NoRules(), validator: nil, raw: [])
        ) {
            (self.failure, self.later) = (failure, later)
        }

        func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
            let isFirst = fetches.withLock { fetches in
                fetches += 1
                return fetches == 1
            }
            guard isFirst else { return later }
            await stuck.wait()
            if Task.isCancelled { throw ExperimentationError(.transport, "cancelled") }
            if let failure { throw ExperimentationError(failure, "failed") }
            return .replaced(NoRules(), validator: nil, raw: [])
        }

        func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { NoRules() }
    }

    private struct Stuck: ExperimentationProvider {
        let source: StuckSource
        var name: String { "stuck" }
        var scope: String { "" }
        var capabilities: Set<Capability> { [.flags] }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(decisions: .computed(source))
        }
    }

    private struct NoRules: Ruleset {
        var catalogue: FlagCatalogue { Decisions.none.catalogue }
        func decisions(for context: EvaluationContext) -> Decisions { .none }
    }

    @Test(
        "a caller that is cancelled leaves the request to those that wait for it",
        arguments: [nil, ErrorCode.transport]
    )
    func cancelled(failure: ErrorCode?) async throws {
        let source = StuckSource(failure: failure)
        let rules = PartyRules(source, in: ProviderContext())
        let shadow = Task { try await rules.current(for: "ada", inSession: false, isForced: true, isShadow: true) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        let leader = Task { () async -> ErrorCode? in
            do throws(ExperimentationError) {
                _ = try await rules.current(for: "ben", inSession: true, isForced: false)
                return nil
            } catch {
                return error.code
            }
        }
        try await eventually("another waits") { rules.turn.waiting == 1 }
        shadow.cancel()
        await #expect(throws: ExperimentationError.self) { try await shadow.value }
        source.stuck.open()
        #expect(await leader.value == failure)
        #expect(source.fetches.withLock { $0 } == 1)
    }

    @Test("a shadow that waits for another one's request gives up at its deadline")
    func shadow() async throws {
        let source = StuckSource()
        let time = ManualTime()
        let context = ProviderContext(environment: ClientEnvironment(time: time))
        let old = try await Party(InMemoryProvider(name: "old"), .old, in: context)
        let new = try await Party(Stuck(source: source), .new, in: context)
        let rules = try #require(new.rules)
        let plan = MigrationPlan()
        let shadow = Shadow(old: old, new: new, plan: plan, time: time, tally: Tally(plan))
        let led = Shadow.Led(
            side: .old,
            answer: Party.Answer(decisions: .none, latency: .zero),
            contexts: [.new: EvaluationContext(user: User(id: "ada"), date: time.now)],
            user: "ada"
        )
        let leader = Task { try await rules.current(for: "ben", inSession: true, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        let comparing = Task { await shadow.compare(led) }
        try await eventually("the shadow waits, and its deadline runs") {
            rules.turn.waiting == 1 && time.sleepers == 1
        }
        time.advance(by: plan.shadow.deadline)
        await comparing.value
        source.stuck.open()
        #expect(try await leader.value != nil)
        #expect(source.fetches.withLock { $0 } == 1)
    }

    @Test(
        "callers share the request in progress unless they demand newer rules, as it may have read older ones",
        arguments: [(false, 1), (true, 2)]
    )
    func underWay(isForced: Bool, fetches: Int) async throws {
        let source = StuckSource()
        let time = ManualTime()
        let rules = PartyRules(source, in: ProviderContext(environment: ClientEnvironment(time: time)))
        let first = Task { try await rules.current(for: "ada", inSession: false, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        let others = ["ben", "cid"].map { user in
            Task { try await rules.current(for: user, inSession: false, isForced: isForced, isShadow: true) }
        }
        try await eventually("the others wait") { rules.turn.waiting == 2 }
        time.advance(by: .seconds(1))
        source.stuck.open()
        for task in [first] + others { #expect(try await task.value != nil) }
        #expect(source.fetches.withLock { $0 } == fetches)
    }

    @Test("a caller that has waited learns that the vendor is disabled, even if the request returned rules before")
    func disabledMeanwhile() async throws {
        let source = StuckSource(later: .disabled)
        let rules = PartyRules(source, in: ProviderContext())
        let first = Task { try await rules.current(for: "ada", inSession: false, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        let forced = Task { try await rules.current(for: "ben", inSession: false, isForced: true, isShadow: true) }
        try await eventually("newer rules are demanded") { rules.turn.waiting == 1 }
        let waiting = Task { try await rules.current(for: "cid", inSession: false, isForced: false) }
        try await eventually("another waits behind that") { rules.turn.waiting == 2 }
        source.stuck.open()
        #expect(try await first.value != nil)
        #expect(try await forced.value == nil)
        #expect(try await waiting.value == nil)
        #expect(source.fetches.withLock { $0 } == 2)
    }

    @Test("a change announced during a fetch is fetched with the next request")
    func change() async throws {
        let source = StuckSource()
        let rules = PartyRules(source, in: ProviderContext(environment: ClientEnvironment(time: ManualTime())))
        let before = Task { try await rules.current(for: "ada", inSession: true, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        await rules.expire()
        let after = Task { try await rules.current(for: "ben", inSession: true, isForced: false) }
        try await eventually("another waits") { rules.turn.waiting == 1 }
        source.stuck.open()
        for task in [before, after] { #expect(try await task.value != nil) }
        #expect(source.fetches.withLock { $0 } == 2)
    }

    @Test("the age of rules counts from the request, however late the answer comes")
    func lateAnswer() async throws {
        let source = StuckSource()
        let time = ManualTime()
        let rules = PartyRules(source, in: ProviderContext(environment: ClientEnvironment(time: time)))
        let slow = Task { try await rules.current(for: "ada", inSession: false, isForced: false) }
        try await eventually("the vendor is asked") { source.fetches.withLock { $0 } == 1 }
        time.advance(by: .seconds(61))
        source.stuck.open()
        #expect(try await slow.value?.age == .seconds(61))
        #expect(try await rules.current(for: "ben", inSession: false, isForced: false)?.age == .zero)
        #expect(source.fetches.withLock { $0 } == 2)
    }
}
