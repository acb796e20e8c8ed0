import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization
import Testing
import Waiting

@Suite("A scenario can reach its documented limits", .timeLimit(.minutes(10)))
struct LimitTests {
    private func scenario(_ steps: [String]) throws -> Scenario {
        let text = #"{"name": "long", "world": "shop", "steps": [\#(steps.joined(separator: ","))]}"#
        return try Scenario(SourceDocument(json: Array(text.utf8), name: "long.json"))
    }

    @Test("the maximum number of events is tracked and delivered, even one per request")
    func mostEvents() async throws {
        let most = isSoak ? 20_000 : 1_000
        let steps = [
            #"{"arrive": "ada"}"#, #"{"track": {"type": "custom", "name": "a"}, "times": \#(most)}"#,
            #"{"flush": true}"#,
        ]
        let subjects: [any ConformanceSubject] = [InMemorySubject(), FlagshipSubject(), EvergageSubject()]
        let comparison = await ComparisonRunner().run(try scenario(steps), with: subjects)
        for story in comparison.vendors {
            #expect(story.failure == nil, "\(story.name)")
            #expect(story.ledger.accepted >= most && story.ledger.pending == 0, "\(story.name)")
        }
    }

    @Test("each step reads only new exchanges, however long the story is", arguments: [50, 200])
    func refreshes(count: Int) async throws {
        let steps = [#"{"arrive": "ada"}"#] + Array(repeating: #"{"refresh": true}"#, count: count)
        let subject = CountingSubject()
        let comparison = await ComparisonRunner().run(try scenario(steps), with: [subject])
        let story = try #require(comparison.vendors.first)
        #expect(story.failure == nil && story.outcomes.count == count + 1)
        // Each exchange is handed out once for its step and once for the transcript.
        #expect(story.exchanges.count >= count)
        #expect(subject.handedOut <= 2 * story.exchanges.count)
    }
}

/// Counts the exchanges that are handed out.
private final class CountingSubject: ConformanceSubject {
    private let subject = FlagshipSubject()
    private let count = Mutex(0)

    var name: String { subject.name }
    var capabilities: Set<Capability> { subject.capabilities }
    var wireFields: Set<Received.Field> { subject.wireFields }
    var handedOut: Int { count.withLock { $0 } }

    func open(_ world: World) async throws -> any SubjectStage {
        CountingStage(stage: try await subject.open(world), subject: self)
    }

    func hand(_ exchanges: [Exchange]) -> [Exchange] {
        count.withLock { $0 += exchanges.count }
        return exchanges
    }
}

private struct CountingStage: SubjectStage {
    let stage: any SubjectStage
    let subject: CountingSubject

    func makeProvider() async throws -> any ExperimentationProvider { try await stage.makeProvider() }
    func change(to world: World) async throws { try await stage.change(to: world) }
    func inject(_ faults: [WorldFault]) async throws { try await stage.inject(faults) }
    func clearFaults() async throws { try await stage.clearFaults() }
    func setKillSwitch(_ isOn: Bool) async throws { try await stage.setKillSwitch(isOn) }
    func setReachable(_ isReachable: Bool) async throws { try await stage.setReachable(isReachable) }
    func received() async throws -> [Received] { try await stage.received() }
    func exchanges() async throws -> [Exchange] { subject.hand(try await stage.exchanges()) }
    func exchangeCount() async throws -> Int { try await stage.exchangeCount() }
    func exchanges(from index: Int) async throws -> [Exchange] {
        subject.hand(try await stage.exchanges(from: index))
    }
    func close() async { await stage.close() }
}
