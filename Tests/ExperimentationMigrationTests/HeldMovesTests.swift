import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Moves that are held")
struct HeldMovesTests {
    static let away = ExperimentationError(.transport, "away")

    @Test(
        "a move to the new vendor is held while a vendor's rules are unavailable, and continues once they are",
        arguments: MigrationSide.allCases
    )
    func unknownRules(side: MigrationSide) async throws {
        let moves = Moves()
        let vendor = side == .old ? moves.old : moves.new
        vendor.setFailure(Self.away)
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        let reason = "the rules of \(vendor.name) can't be had now, so the mapping can't be checked: away"
        let error = await #expect(throws: ExperimentationError.self) { try await migration.move(to: .live, share: 1) }
        #expect(error?.code == .configuration)
        #expect(error?.message == "The move to live is held: \(reason)")
        #expect(migration.held == [reason])
        #expect(migration.stage == .off)
        #expect(try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).stage == .off)

        vendor.setFailure(nil)
        try await migration.move(to: .live, share: 1)
        #expect(migration.stage == .live && migration.held == [])
        await client.shutdown(within: .zero)
    }

    @Test("a move to a vendor without experiments is held, and continues once it has those of the mapping")
    func noExperiments() async throws {
        let moves = Moves()
        moves.new.replace(flags: [InMemoryFlag("plain", "same")])
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        for _ in 0..<2 {
            let error = await #expect(throws: ExperimentationError.self) {
                try await migration.move(to: .live, share: 1)
            }
            #expect(error?.code == .configuration)
            #expect(
                error?.message
                    == "The move to live is held: new has no experiments, so the mapping can't be checked; "
                    + "choose the right environment, or take what is finished out of the mapping"
            )
        }
        #expect(migration.stage == .off)
        let arms: [InMemoryExperiment.Arm] = [
            .init(Variation(id: "A"), weight: 50, flags: ["f0": "grey"]),
            .init(Variation(id: "B"), weight: 50, flags: ["f0": "green"]),
        ]
        moves.new.replace(flags: [], experiments: [InMemoryExperiment(Experiment(id: "x0"), arms: arms)])
        try await migration.move(to: .live, share: 1)
        #expect(migration.stage == .live)
        await client.shutdown(within: .zero)
    }

    @Test("a plan without a mapping may go to a vendor without experiments")
    func nothingMapped() async throws {
        let moves = Moves(experiments: 0)
        let client = try await moves.client()
        try await Moves.migration(of: client).move(to: .live, share: 1)
        #expect(try Moves.migration(of: client).stage == .live)
        await client.shutdown(within: .zero)
    }

    @Test(
        "a move to a disabled vendor is held until its kill switch is off, even if its rules are available",
        arguments: [false, true]
    )
    func disabled(hasRules: Bool) async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = hasRules ? .shadow : .off }
        let migration = try Moves.migration(of: client)
        if hasRules {
            _ = await migration.experiments(of: .new)
            await migration.new.setOff(true)
        }
        moves.new.setDisabled(true)
        let reason = "new is disabled by its kill switch, so the mapping can't be checked; switch it on first"
        let error = await #expect(throws: ExperimentationError.self) { try await migration.move(to: .live, share: 1) }
        #expect(error?.message == "The move to live is held: \(reason)")
        moves.new.setDisabled(false)
        try await migration.move(to: .live, share: 1)
        #expect(migration.stage == .live)
        await client.shutdown(within: .zero)
    }

    @Test("rules of an earlier run don't suffice if the new vendor was disabled when it last answered")
    func disabledInAnEarlierRun() async throws {
        let moves = Moves()
        let first = try await moves.client()
        let before = try Moves.migration(of: first)
        for side in MigrationSide.allCases { _ = await before.experiments(of: side) }
        await before.new.setOff(true)
        await first.shutdown(within: .zero)
        moves.new.setFailure(Self.away)
        let second = try await moves.client()
        let error = await #expect(throws: ExperimentationError.self) {
            try await Moves.migration(of: second).move(to: .live, share: 1)
        }
        #expect(
            error?.message
                == "The move to live is held: the rules of new can't be had now, so the mapping can't be checked: away"
        )
        await second.shutdown(within: .zero)
    }

    @Test("a client that couldn't store its plan checks a move from the plan's stage, where its users are")
    func unstoredPlan() async throws {
        let moves = Moves()
        let isWritable = AsyncGate()
        let store = RacingStore(moves.store) { () throws(ExperimentationError) in
            if !isWritable.isOpen { throw ExperimentationError(.store, "full") }
        }
        var plan = moves.plan
        (plan.stage, plan.share) = (.live, 0.5)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            store: store.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        #expect(try await moves.standing() == nil)
        isWritable.open()
        try await Moves.migration(of: client).move(to: .complete)
        #expect(try await moves.standing()?.stage == .complete)
        await client.shutdown(within: .zero)
    }

    @Test("rules of an earlier run suffice to check a move")
    func rulesOfAnEarlierRun() async throws {
        let moves = Moves()
        let first = try await moves.client()
        _ = await [
            try Moves.migration(of: first).experiments(of: .old), try Moves.migration(of: first).experiments(of: .new),
        ]
        await first.shutdown(within: .zero)
        for vendor in [moves.old, moves.new] { vendor.setFailure(Self.away) }
        let second = try await moves.client()
        try await Moves.migration(of: second).move(to: .live, share: 1)
        #expect(try Moves.migration(of: second).stage == .live)
        await second.shutdown(within: .zero)
    }

    @Test(
        "an app starts in a live stage although its vendors are unreachable, and logs that nothing was checked"
    )
    func startsUnchecked() async throws {
        let moves = Moves()
        for vendor in [moves.old, moves.new] { vendor.setFailure(Self.away) }
        var plan = moves.plan
        plan.stage = .live
        let log = RecordingLog()
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time, log: log)
        )
        let unchecked = log.entries.filter { $0.event == "migration.unchecked" }
        #expect(unchecked.map(\.level) == [.warning, .warning])
        #expect(
            unchecked.map(\.message)
                == ["old", "new"].map {
                    "The move starts unchecked: the rules of \($0) can't be had now, so the mapping can't be checked: away"
                }
        )
        await client.shutdown(within: .zero)
    }

    @Test(
        "a sample-ratio alarm holds a move forward but not a move back, unless the plan says otherwise",
        arguments: [true, false]
    )
    func alarm(holds: Bool) async throws {
        let moves = Moves()
        let client = try await moves.client { plan in
            var mapped = plan.mapping.experiments
            // Half of the users get an arm meant for one in a thousand.
            mapped[0].weights = ["a": 999, "b": 1]
            plan.mapping = Mapping(mapped)
            plan.stage = .dualWrite
            plan.holdsOnAlarm = holds
        }
        let migration = try Moves.migration(of: client)
        for number in 0..<60 { _ = try await Moves.color("user-\(number)", by: client) }
        _ = try await client.flush()
        let report = migration.report
        let allocated = try #require(report.allocations["e0"])
        #expect(allocated.isAlarming && allocated.pValue < 0.000_1)
        #expect(allocated.counts.values.reduce(0, +) == 60)
        #expect(report.exposed == ["e0": allocated])
        let stage = try #require(report.stages[.dualWrite])
        #expect(stage.allocations["e0"]?.counts == allocated.counts)
        #expect(stage.exposed == stage.allocations && report.stages.count == 1)
        if holds {
            let error = await #expect(throws: ExperimentationError.self) { try await migration.move(to: .shadow) }
            #expect(error?.message.contains("the sample-ratio test alarms") == true)
            #expect(migration.stage == .dualWrite)
        } else {
            try await migration.move(to: .shadow)
        }
        try await migration.move(to: .off)
        #expect(migration.stage == .off)
        await client.shutdown(within: .zero)
    }
}
