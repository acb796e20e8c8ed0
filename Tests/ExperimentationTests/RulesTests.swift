import ExperimentationTesting
import Foundation
import Testing

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

    @Test("they are valid for their lifetime, whatever happens to the time of day")
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
        "those of an earlier run are valid by their date, unless it is in the future",
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

    @Test("what rules of an earlier run have decided expires when they do")
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
}
