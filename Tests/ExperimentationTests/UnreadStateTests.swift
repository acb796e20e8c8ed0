import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("State that can't be read when a client starts", .timeLimit(.minutes(1)))
struct UnreadStateTests {
    private let time = ManualTime()
    private let state = InMemoryStateStore()
    private let provider = InMemoryProvider(
        flags: [InMemoryFlag("a", true)],
        freshness: Freshness(lifetime: .seconds(600))
    )

    /// Begins a run.
    private func client(
        over reads: FailingReads? = nil,
        log: any LogSink = NoLog()
    ) async throws -> ExperimentationClient {
        let store = ClientStore(outbox: InMemoryOutboxStore(), state: reads ?? state)
        return try await time.passing { [provider, time] in
            try await ExperimentationClient(
                provider: provider,
                store: store,
                environment: ClientEnvironment(time: time, log: log)
            )
        }
    }

    @Test("P36 a kill switch that can't be read for a moment is nevertheless on")
    func killSwitch() async throws {
        try await client().core.killSwitch.set(true)
        let client = try await client(over: FailingReads(3, of: state, for: "/kill-switch"))
        #expect(client.status == .disabled)
        #expect(client.session(for: User(id: "ada")).details("a", default: false).reason == .disabled)
        await client.shutdown(within: .zero)
    }

    @Test("overrides that can't be read for a moment are nevertheless in force")
    func overrides() async throws {
        try await client().force(.exclude(experiment: "e"))
        let client = try await client(over: FailingReads(3, of: state, for: "/overrides"))
        #expect(client.overrides == [.exclude(experiment: "e")])
        await client.shutdown(within: .zero)
    }

    @Test("rules that can't be read for a moment decide without the vendor, and are as old as its last confirmation")
    func rules() async throws {
        let first = try await client()
        for _ in 0..<2 {
            try await first.refresh(force: true)
            time.advance(by: .seconds(500))
        }
        provider.clearRecord()
        for part in ["/ruleset", "/confirmation"] {
            let client = try await client(over: FailingReads(3, of: state, for: part))
            #expect(client.bool("a", default: false, for: User(id: "ada")), "\(part)")
            let age = try #require(client.rulesAge)
            #expect(age >= .seconds(500) && age < .seconds(501), "\(part): \(age)")
            await client.shutdown(within: .zero)
        }
        #expect(provider.record.fetches == 0)
    }

    @Test("rules that can't be read at the start are read with the next refresh, if the vendor doesn't answer it")
    func rulesLater() async throws {
        try await client().refresh()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        let reads = FailingReads(.max, of: state, for: "/ruleset")
        let client = try await client(over: reads)
        let session = client.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError.self) { try await session.refresh(force: true) }
        #expect(session.details("a", default: false).errorCode == .providerNotReady)
        reads.mend()
        await #expect(throws: ExperimentationError.self) { try await session.refresh(force: true) }
        #expect(session.details("a", default: false).value)
        #expect(session.details("a", default: false).reason == .cached)
        await client.shutdown(within: .zero)
    }

    @Test("rules of this run aren't replaced by those that couldn't be read at the start")
    func newRules() async throws {
        try await client().refresh()
        provider.set(InMemoryFlag("a", false))
        let reads = FailingReads(.max, of: state, for: "/ruleset")
        let client = try await client(over: reads)
        try await client.refresh()
        reads.mend()
        provider.setFailure(ExperimentationError(.transport, "gone"))
        await #expect(throws: ExperimentationError.self) { try await client.refresh(force: true) }
        #expect(client.details("a", default: true, for: User(id: "ada")).value == false)
        #expect(client.details("a", default: true, for: User(id: "ada")).reason == .stale)
        await client.shutdown(within: .zero)
    }

    @Test("a store that stays unreadable delays a start by 200 milliseconds, and is logged once for each value")
    func unreadable() async throws {
        let log = RecordingLog(level: .warning)
        let start = time.instant
        let client = try await client(over: FailingReads(.max, of: state), log: log)
        #expect(start.duration(to: time.instant) <= .milliseconds(200))
        #expect(log.entries.map(\.event) == ["cache.unreadable", "cache.unreadable", "cache.unreadable"])
        await client.shutdown(within: .zero)
    }

    @Test("a slow store doesn't use up the patience of later reads")
    func slow() async throws {
        let patience = ReadingPatience(by: time)
        let slow = try await patience.read { () async throws(ExperimentationError) in slowly() }
        #expect(slow == 1)
        let reads = FailingReads(3, of: state)
        let reading = try await time.passing { () async throws(ExperimentationError) in
            try await patience.read { () async throws(ExperimentationError) in try await reads.value(for: "key") }
        }
        #expect(reading == nil)
    }

    private func slowly() -> Int {
        time.advance(by: .seconds(5))
        return 1
    }
}
