import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("The recorded stage of a move")
struct StandingTests {
    private func record(_ moves: Moves) async throws -> MigrationRecord {
        try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state)
    }

    private func track(_ name: String, by client: ExperimentationClient) async throws {
        try await client.session(for: User(id: "ada", consent: .granted)).track(.custom(name))
    }

    @Test(
        "events before the first refresh go where the stored stage sends them",
        arguments: [(MigrationStage.dualWrite, true, true), (.complete, false, true)]
    )
    func firstEvent(stage: MigrationStage, toOld: Bool, toNew: Bool) async throws {
        let moves = Moves()
        let first = try await moves.client { $0.reassignment = .accepted }
        try await Moves.migration(of: first).move(to: stage)
        await first.shutdown(within: .zero)
        let second = try await moves.client { $0.reassignment = .accepted }
        #expect(try Moves.migration(of: second).stage == stage)
        try await track("goal", by: second)
        _ = try await second.flush()
        #expect(moves.old.delivered.contains(.custom("goal")) == toOld)
        #expect(moves.new.delivered.contains(.custom("goal")) == toNew)
        await second.shutdown(within: .zero)
    }

    @Test("vendors without decisions follow a stage written from outside when they deliver")
    func withoutDecisions() async throws {
        let moves = Moves()
        let provider = MigratingProvider(
            from: EventsOnly(moves.old),
            to: EventsOnly(moves.new),
            plan: MigrationPlan()
        )
        let client = try await ExperimentationClient(
            provider: provider,
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        _ = try await MigrationRecord.move(
            to: .dualWrite,
            with: provider,
            in: moves.store.state,
            environment: ClientEnvironment(time: moves.time)
        )
        moves.time.advance(by: .seconds(3))
        try await track("first", by: client)
        _ = try await client.flush()
        try await track("second", by: client)
        _ = try await client.flush()
        #expect(moves.new.delivered.contains(.custom("second")))
        await client.shutdown(within: .zero)
    }

    @Test("recording that the new vendor has assigned users keeps a stage that another instance has written meanwhile")
    func dealtBesideMove() async throws {
        let moves = Moves()
        let slow = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        _ = try await Moves.color("ada", by: slow)
        let other = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        try await Moves.migration(of: other).move(to: .rampDown)
        // Within its two seconds the first instance doesn't know.
        try await Moves.migration(of: slow).noteDealt()
        let kept = try await moves.standing()
        #expect(kept?.stage == .rampDown)
        #expect(kept?.hasDealt == true)
        for client in [slow, other] { await client.shutdown(within: .zero) }
    }

    @Test("a move keeps what another instance has recorded since, and checks again with it")
    func moveBesideDealt() async throws {
        let moves = Moves(oldCanBeTold: false)
        let one = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        let two = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        _ = try await Moves.migration(of: one).current()
        try await Moves.migration(of: two).noteDealt()
        await #expect(throws: ExperimentationError.self) { try await Moves.migration(of: one).move(to: .shadow) }
        #expect(try await moves.standing()?.hasDealt == true)
        for client in [one, two] { await client.shutdown(within: .zero) }
    }

    @Test("a plan that goes back is refused at the start if the old vendor can't be told what the new one has assigned")
    func backByPlan() async throws {
        let moves = Moves(oldCanBeTold: false)
        let first = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        try await Moves.migration(of: first).move(to: .rampDown)
        try await Moves.migration(of: first).noteDealt()
        await first.shutdown(within: .zero)
        let error = await #expect(throws: ExperimentationError.self) { try await moves.client { $0.stage = .off } }
        #expect(error?.message.contains("can't be told which variations users have got from new") == true)
        // Under another plan as well, the move remembers that the new vendor has assigned users.
        let third = try await moves.client { $0.stage = .rampDown }
        await #expect(throws: ExperimentationError.self) { try await Moves.migration(of: third).move(to: .off) }
        await third.shutdown(within: .zero)
    }

    @Test(
        "users assigned by the new vendor aren't moved back to an old one that can't be told their variations",
        arguments: [MigrationPlan.Pins.kept, .ignored]
    )
    func backFromLive(pins: MigrationPlan.Pins) async throws {
        let moves = Moves(oldCanBeTold: false)
        let client = try await moves.client { plan in
            (plan.stage, plan.share, plan.pins) = (.live, 0.8, pins)
        }
        let migration = try Moves.migration(of: client)
        try await migration.noteDealt()
        await #expect(throws: ExperimentationError.self) { try await migration.move(to: .shadow) }
        if pins == .ignored {
            await #expect(throws: ExperimentationError.self) { try await migration.move(to: .live, share: 0.2) }
        } else {
            try await migration.move(to: .live, share: 0.2)
        }
        try await migration.move(to: .live, share: 0.9)
        await client.shutdown(within: .zero)
    }

    @Test("a sample-ratio alarm also holds a move by another instance, until the weights or the plan change")
    func alarmElsewhere() async throws {
        var moves = Moves()
        var mapped = moves.plan.mapping.experiments
        mapped[0].weights = ["a": 999, "b": 1]
        moves.plan.mapping = Mapping(mapped)
        moves.plan.stage = .dualWrite
        let client = try await moves.client()
        for number in 0..<60 { _ = try await Moves.color("user-\(number)", by: client) }
        #expect(try Moves.migration(of: client).report.allocations["e0"]?.isAlarming == true)
        let environment = ClientEnvironment(time: moves.time)
        func move(_ plan: MigrationPlan) async throws -> MigrationRecord {
            try await MigrationRecord.move(
                to: .shadow,
                with: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
                in: moves.store.state,
                environment: environment
            )
        }
        let error = await #expect(throws: ExperimentationError.self) { try await move(moves.plan) }
        #expect(error?.message.contains("the sample-ratio test alarms") == true)
        var corrected = moves.plan
        mapped[0].weights = ["a": 50, "b": 50]
        corrected.mapping = Mapping(mapped)
        #expect(try await move(corrected).stage == .shadow)
        await client.shutdown(within: .zero)
    }

    @Test("listeners are notified of a stage followed from the store")
    func followed() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        var reports = migration.reports().makeAsyncIterator()
        #expect(await reports.next()?.stage == .off)
        let other = try await moves.client()
        try await Moves.migration(of: other).move(to: .dualWrite)
        moves.time.advance(by: .seconds(3))
        _ = try await Moves.color("ada", by: client)
        migration.stop()
        #expect(await reports.next()?.stage == .dualWrite)
        for client in [client, other] { await client.shutdown(within: .zero) }
    }

    @Test("a stage that was read before a move and arrives after it doesn't undo the move")
    func readBeforeMove() async throws {
        let moves = Moves()
        let interruption = Interruption()
        let racing = RacingStore(moves.store, afterReads: interruption.happen)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        moves.time.advance(by: .seconds(3))
        interruption.arm { () async throws(ExperimentationError) in try await migration.move(to: .dualWrite) }
        #expect(try await migration.current().stage == .dualWrite)
        #expect(interruption.hasHappened)
        await client.shutdown(within: .zero)
    }
}
