import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Foundation
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("The stage flag")
struct StageFlagTests {
    private let time = ManualTime()
    private let store = ClientStore.inMemory()
    private let old = InMemoryProvider(
        name: "old",
        flags: [InMemoryFlag("stage", "dualWrite")],
        freshness: Freshness(lifetime: .seconds(60))
    )
    private let new = InMemoryProvider(name: "new", freshness: Freshness(lifetime: .seconds(60)))

    private func client(
        from provider: (any ExperimentationProvider)? = nil,
        heedsFlag: Bool = true
    ) async throws -> ExperimentationClient {
        var plan = MigrationPlan()
        plan.reassignment = .accepted
        if heedsFlag { plan.stageFlag = .init(of: .old, key: "stage") }
        return try await ExperimentationClient(
            provider: MigratingProvider(from: provider ?? old, to: new, plan: plan),
            store: store,
            environment: ClientEnvironment(time: time)
        )
    }

    /// Sets the flag without an announcement: instances see it when their rules expire.
    private func set(_ value: String) { old.replace(flags: [InMemoryFlag("stage", .string(value))]) }

    private func decide(by client: ExperimentationClient) async throws {
        _ = try await client.decisions(for: User(id: "ada"))
    }

    /// Decides with rules that were just fetched.
    private func refresh(_ client: ExperimentationClient) async throws {
        let session = client.session(for: User(id: "ben"))
        for _ in 0..<2 { try await session.refresh(force: true) }
    }

    @Test(
        "an instance with older rules doesn't undo a change that another one has followed, but follows a later change"
    )
    func olderRules() async throws {
        let clients = [try await client(), try await client()]
        let migrations = try clients.map(Moves.migration)
        try await decide(by: clients[0])
        try await eventually("the first one follows") { migrations[0].stage == .dualWrite }
        time.advance(by: .seconds(30))
        set("off")
        try await refresh(clients[1])
        try await eventually("the second one follows") { migrations[1].stage == .off }

        // The first one's rules still say "dualWrite" for half a minute.
        let fetches = old.record.fetches
        var stages: Set<MigrationStage> = []
        for _ in 0..<8 {
            time.advance(by: .seconds(3))
            for client in clients { try await decide(by: client) }
            stages.formUnion(migrations.map(\.stage))
        }
        #expect(stages == [.off])
        #expect(old.record.fetches == fetches)

        time.advance(by: .seconds(61))
        for client in clients { try await decide(by: client) }
        #expect(migrations.map(\.stage) == [.off, .off])
        set("dualWrite")
        time.advance(by: .seconds(61))
        try await decide(by: clients[0])
        try await eventually("the change back is followed") { migrations[0].stage == .dualWrite }
        time.advance(by: .seconds(3))
        try await decide(by: clients[1])
        #expect(migrations[1].stage == .dualWrite)
        for client in clients { await client.shutdown(within: .zero) }
    }

    @Test("rules in a composition count as old as they may be, and rules kept after a failure set no stage")
    func olderRulesOfAComposition() async throws {
        let composed = try ComposedProvider([.init(old), .init(Asked(InMemoryProvider(name: "asked")))])
        let clients = [try await client(from: composed), try await client(from: composed)]
        let migrations = try clients.map(Moves.migration)
        try await decide(by: clients[0])
        try await eventually("the first one follows") { migrations[0].stage == .dualWrite }
        time.advance(by: .seconds(61))
        try await decide(by: clients[0])
        set("off")
        time.advance(by: .seconds(2))
        try await decide(by: clients[1])
        try await eventually("the second one follows") { migrations[1].stage == .off }

        // The first one's rules still say "dualWrite" for a minute, and longer while there are no others.
        var stages: Set<MigrationStage> = []
        for failure in [nil, ExperimentationError(.transport, "away")] {
            old.setFailure(failure)
            for _ in 0..<4 {
                time.advance(by: .seconds(12))
                for client in clients { try await decide(by: client) }
                stages.formUnion(migrations.map(\.stage))
            }
        }
        #expect(stages == [.off])

        old.setFailure(nil)
        set("dualWrite")
        time.advance(by: .seconds(61))
        try await decide(by: clients[0])
        try await eventually("the change back is followed") { migrations[0].stage == .dualWrite }
        for client in clients { await client.shutdown(within: .zero) }
    }

    @Test(
        "a late answer dates from between the request and the answer, even if the clock is set back",
        arguments: [10, -10] as [TimeInterval]
    )
    func lateAnswer(later: TimeInterval) async throws {
        let context = ProviderContext(environment: ClientEnvironment(time: time))
        let party = try await Party(HangingProvider(), .old, in: context)
        let start = time.now
        let asking = Task { try await party.answer(for: EvaluationContext(user: User(id: "ada"), date: start)) }
        try await eventually("the vendor is asked") { time.sleepers == 1 }
        time.setNow(start.addingTimeInterval(later - 10))
        time.advance(by: .seconds(10))
        #expect(try await asking.value?.asked == start...start.addingTimeInterval(max(0, later)))
    }

    @Test("the time that the store takes after a vendor's answer doesn't make the answer later")
    func slowStore() async throws {
        let store = RacingStore(store) { [time] in time.advance(by: .seconds(5)) }
        let context = ProviderContext(environment: ClientEnvironment(time: time), state: store)
        let party = try await Party(Asked(InMemoryProvider(name: "asked")), .old, in: context)
        let start = time.now
        let answer = try await party.answer(for: EvaluationContext(user: User(id: "ada"), date: start))
        #expect(time.now == start + 5)
        #expect(answer?.asked == start...start)
    }

    @Test("a move by command stays until the flag changes, also from the stage that the flag named")
    func command() async throws {
        let client = try await client()
        let migration = try Moves.migration(of: client)
        try await migration.move(to: .dualWrite)
        try await decide(by: client)
        try await eventually("the value is noted") { migration.standing.flag?.value == "dualWrite" }
        try await migration.move(to: .off)
        for _ in 0..<4 {
            time.advance(by: .seconds(61))
            try await decide(by: client)
        }
        #expect(migration.stage == .off)
        set("shadow")
        time.advance(by: .seconds(61))
        try await decide(by: client)
        try await eventually("the change is followed") { migration.stage == .shadow }
        await client.shutdown(within: .zero)
    }

    @Test("rules of an earlier run set no stage; fetched rules do")
    func restoredRules() async throws {
        let first = try await client(heedsFlag: false)
        try await decide(by: first)
        await first.shutdown(within: .zero)
        old.setFailure(ExperimentationError(.transport, "away"))
        let second = try await client()
        let migration = try Moves.migration(of: second)
        try await decide(by: second)
        let answer = try await migration.old.answer(for: EvaluationContext(user: User(id: "eve"), date: time.now))
        #expect(answer?.decisions["stage"]?.value == "dualWrite" && answer?.asked == nil)
        #expect(migration.stage == .off)
        old.setFailure(nil)
        time.advance(by: .seconds(3))
        try await refresh(second)
        try await eventually("it is followed") { migration.stage == .dualWrite }
        await second.shutdown(within: .zero)
    }

    @Test(
        "a value counts if it differs and was requested later, by a margin if it is the value from before",
        arguments: [
            ("live:0.5", 100, false), ("off", 0, false), ("off", -1, false), ("off", 1, true), ("shadow", 1, true),
            ("shadow", -1, false), ("dualWrite", 10, false), ("dualWrite", 11, true),
        ] as [(String, TimeInterval, Bool)]
    )
    func changed(value: String, seconds: TimeInterval, isChanged: Bool) {
        let date = Date(timeIntervalSince1970: 1_000)
        func at(_ seconds: TimeInterval) -> ClosedRange<Date> {
            date.addingTimeInterval(seconds)...date.addingTimeInterval(seconds)
        }
        let before = FollowedFlag("dualWrite", asked: at(-500))
        let flag = FollowedFlag("live:0.5", asked: at(0), after: before)
        let asked = at(seconds)
        #expect(flag.isChanged(to: value, asked: asked, now: date.addingTimeInterval(600)) == isChanged)
        // An answer that may be older than it seems isn't later for certain.
        let older = asked.lowerBound.addingTimeInterval(-100)...asked.upperBound
        #expect(!flag.isChanged(to: value, asked: older, now: date.addingTimeInterval(600)))
        // A value that was followed by a clock an hour ahead doesn't count.
        #expect(flag.isChanged(to: "off", asked: asked, now: date.addingTimeInterval(-3_600)))
    }
}
