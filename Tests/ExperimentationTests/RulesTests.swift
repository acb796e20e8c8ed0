import Dispatch
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("Published rules", .timeLimit(.minutes(1)))
struct RulesTests {
    private static let tenMinutes = Freshness(lifetime: .seconds(600))

    /// Begins runs that share a store.
    private static func runs(
        of provider: InMemoryProvider,
        by time: ManualTime
    ) -> () async throws -> ExperimentationClient {
        let store = ClientStore.inMemory()
        return {
            try await ExperimentationClient(
                provider: provider,
                store: store,
                environment: ClientEnvironment(time: time)
            )
        }
    }

    @Test("rules are valid for their lifetime, whatever happens to the wall clock")
    func timeOfDay() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)], freshness: Self.tenMinutes)
        let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
        try await client.refresh()
        for jump in [86_400.0, -172_800] {
            time.setNow(time.now + jump)
            try await client.refresh()
            #expect(provider.record.fetches == 1)
        }
        time.advance(by: .seconds(601))
        try await client.refresh()
        #expect(provider.record.fetches == 2)
        await client.shutdown()
    }

    @Test(
        "rules of an earlier run are valid by their date, unless it is in the future",
        arguments: [(599.0, 0), (601, 1), (-1, 1)]
    )
    func restored(later: Double, fetches: Int) async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)], freshness: Self.tenMinutes)
        let client = Self.runs(of: provider, by: time)
        try await client().refresh()
        time.setNow(time.now + later)
        provider.clearRecord()
        try await client().refresh()
        #expect(provider.record.fetches == fetches)
    }

    @Test("rules of an earlier run are as old as the vendor's last confirmation")
    func confirmed() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)], freshness: Self.tenMinutes)
        let client = Self.runs(of: provider, by: time)
        let first = try await client()
        for _ in 0..<2 {
            try await first.refresh(force: true)
            time.advance(by: .seconds(500))
        }
        #expect(first.rulesAge == .seconds(500))
        provider.clearRecord()
        let second = try await client()
        try await second.refresh()
        #expect(provider.record.fetches == 0)
        #expect(second.rulesAge == .seconds(500))
        // New rules have their own age, whatever was confirmed of the former ones.
        provider.set(InMemoryFlag("a", false))
        try await second.refresh(force: true)
        time.advance(by: .seconds(599))
        #expect(try await client().rulesAge == .seconds(599))
    }

    @Test("decisions by rules of an earlier run expire when the rules do")
    func restoredDecisions() async throws {
        let time = ManualTime()
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)], freshness: Self.tenMinutes)
        let client = Self.runs(of: provider, by: time)
        try await client().refresh()
        time.advance(by: .seconds(599))
        let decisions = try await client().decisions(for: User(id: "ada"))
        #expect(!decisions.isStale)
        time.advance(by: .seconds(2))
        #expect(decisions.isStale)
        #expect(decisions.details("a", default: false).age == .seconds(601))
    }

    @Test(
        "an answer that reaches its caller late changes nothing that came after it",
        arguments: [
            // The requests that fail: the late one, none, those after it.
            (2...2, Reason.static, ProviderStatus.ready), (0...0, .static, .ready), (3...9, .stale, .stale),
        ]
    )
    func late(failing: ClosedRange<Int>, reason: Reason, status: ProviderStatus) async throws {
        let source = NumberedRules(failing: failing)
        let client = try await ExperimentationClient(provider: source)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let executor = QueueExecutor()
        let late = Task(executorPreference: executor) { try? await session.refresh(force: true) }
        await source.isAskedAgain.wait()
        executor.queue.suspend()
        source.mayAnswer.open()
        // The first may share the request of the late one.
        for _ in 0..<2 { try? await session.refresh(force: true) }
        executor.queue.resume()
        _ = await late.value
        let number = failing.contains(3) ? 2 : source.requests.value
        for details in [
            client.details("number", default: 0, for: User(id: "bob")), session.details("number", default: 0),
        ] {
            #expect(details.value == number)
            #expect(details.reason == reason)
        }
        #expect(session.status == status)
        #expect(client.status == status)
        await client.shutdown()
    }

    @Test("rules stay valid for others if a caller stops waiting, and the rules that arrive are used nevertheless")
    func cancelledFetch() async throws {
        let source = NumberedRules()
        let client = try await ExperimentationClient(provider: source)
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        let impatient = Task { try await client.refresh(force: true) }
        await source.isAskedAgain.wait()
        impatient.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await impatient.value }
        #expect(error?.code == .cancelled)
        #expect(client.status == .ready)
        #expect(client.details("number", default: 0, for: User(id: "bob")).reason == .static)
        #expect(session.details("number", default: 0).reason == .static)
        source.mayAnswer.open()
        try await eventually("the new rules") { client.int("number", default: 0, for: User(id: "bob")) == 2 }
        await client.shutdown()
    }
}

/// Publishes rules whose flag has the number of the request; the second one waits for a gate.
private final class NumberedRules: ExperimentationProvider, RulesetSource {
    private struct Rules: Ruleset {
        let decisions: Decisions
        var catalogue: FlagCatalogue { decisions.catalogue }
        func decisions(for context: EvaluationContext) -> Decisions { decisions }
    }

    let name = "numbered rules"
    let scope = ""
    let capabilities: Set<Capability> = [.flags]
    let freshness = Freshness()
    let isAskedAgain = AsyncGate()
    let mayAnswer = AsyncGate()
    let requests = Shared(0)
    private let failing: ClosedRange<Int>

    init(failing: ClosedRange<Int> = 0...0) { self.failing = failing }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .computed(self))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        requests.change { $0 += 1 }
        let number = requests.value
        if number == 2 {
            isAskedAgain.open()
            await mayAnswer.wait()
        }
        if failing.contains(number) { throw ExperimentationError(.transport, "gone") }
        let flag = (key: "number", resolution: Resolution(.int(number), reason: .static))
        return .replaced(Rules(decisions: Decisions(flags: [flag])), validator: nil, raw: [])
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        throw ExperimentationError(.parseError, "nothing is kept")
    }
}

/// An executor whose queue can be suspended, to hold back the steps of a task.
private final class QueueExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "late")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
