import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing
import Waiting

@Suite("What a stage needs")
struct NeedsOfStagesTests {
    private func client(
        _ old: any ExperimentationProvider,
        _ new: any ExperimentationProvider,
        _ moves: Moves,
        _ change: (inout MigrationPlan) -> Void = { _ in }
    ) async throws -> ExperimentationClient {
        var plan = moves.plan
        change(&plan)
        return try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
    }

    private func problem(
        of stage: MigrationStage,
        for client: ExperimentationClient
    ) async throws -> String? {
        do {
            try await Moves.migration(of: client).move(to: stage, share: 0.5)
            return nil
        } catch let error as ExperimentationError {
            return error.message
        }
    }

    @Test("a candidate that decides nothing is refused wherever it would lead or be compared, in any plan")
    func decidesNothing() async throws {
        for reassignment in [MigrationPlan.Reassignment.refused, .accepted] {
            let moves = Moves()
            let client = try await client(moves.old, EventsOnly(moves.new), moves) { $0.reassignment = reassignment }
            for stage in [MigrationStage.shadow, .live, .rampDown, .complete] {
                #expect(try await problem(of: stage, for: client)?.contains("new decides nothing") == true, "\(stage)")
            }
            #expect(try await problem(of: .dualWrite, for: client) == nil)
            await client.shutdown(within: .zero)
        }
    }

    @Test("a stage that writes to both reports that the candidate accepts no events, in a plan as well")
    func takesNoEvents() async throws {
        for planned in [MigrationStage.off, .dualWrite] {
            let moves = Moves()
            var plan = moves.plan
            plan.stage = planned
            let log = RecordingLog()
            let client = try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: Asked(moves.new, takesEvents: false), plan: plan),
                environment: ClientEnvironment(time: moves.time, log: log)
            )
            try await Moves.migration(of: client).move(to: .dualWrite)
            #expect(
                log.entries.filter { $0.event == "migration.unsupported" }.map(\.message)
                    == ["The stage dualWrite sends nothing to new, which takes no events."]
            )
            await client.shutdown(within: .zero)
        }
    }

    @Test("experiments seen in the answers of an old vendor that is asked must be mapped, in later runs too")
    func askedAndUnmapped() async throws {
        let moves = Moves(experiments: 2)
        let mapped = Mapping([moves.plan.mapping.experiments[0]])
        let first = try await client(Asked(moves.old), moves.new, moves) { $0.mapping = mapped }
        #expect(try await problem(of: .live, for: first)?.contains("no answer of old has been seen") == true)
        for user in MovingTests.users.prefix(20) { _ = try await Moves.color(user, by: first) }
        #expect(try await problem(of: .live, for: first)?.contains("map or finish first: e1") == true)
        await first.shutdown(within: .zero)
        let second = try await client(Asked(moves.old), moves.new, moves) { $0.mapping = mapped }
        #expect(try await problem(of: .live, for: second)?.contains("map or finish first: e1") == true)
        await second.shutdown(within: .zero)
        let third = try await client(Asked(moves.old), moves.new, moves)
        #expect(try await problem(of: .live, for: third) == nil)
        await third.shutdown(within: .zero)
    }
}
