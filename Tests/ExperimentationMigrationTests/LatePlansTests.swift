import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Plans that come late")
struct LatePlansTests {
    /// What another instance does before a late plan takes effect.
    enum Later: CaseIterable {
        case start, follow, move

        func happen(_ moves: Moves) async throws(ExperimentationError) {
            var plan = moves.plan
            (plan.stage, plan.revision) = (.shadow, 1)
            let provider = MigratingProvider(from: moves.old, to: moves.new, plan: self == .start ? plan : moves.plan)
            let environment = ClientEnvironment(time: moves.time)
            let client = try await ExperimentationClient(
                provider: provider,
                store: moves.store,
                environment: environment
            )
            switch self {
            case .start: break
            case .follow: try await client.extras(as: Migration.self)?.follow(plan)
            case .move: try await client.extras(as: Migration.self)?.move(to: .shadow)
            }
            await client.shutdown(within: .zero)
        }
    }

    @Test(
        "a plan that is written late doesn't override changes made meanwhile, and no longer counts as new",
        arguments: Later.allCases
    )
    func writtenLate(later: Later) async throws {
        let moves = Moves()
        try await moves.client().shutdown(within: .zero)
        let isAway = Mutex(true)
        let log = RecordingLog()
        let store = RacingStore(
            moves.store,
            before: { () async throws(ExperimentationError) in
                if isAway.withLock({ $0 }) { throw ExperimentationError(.store, "The disk is full.") }
            }
        )
        var plan = moves.plan
        plan.stage = .dualWrite
        let late = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            store: store.clientStore,
            environment: ClientEnvironment(time: moves.time, log: log)
        )
        #expect(try Moves.migration(of: late).stage == .dualWrite)
        try await later.happen(moves)
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: late).current().stage == .shadow)
        isAway.withLock { $0 = false }
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: late).current().stage == .shadow)
        #expect(try await moves.standing()?.stage == .shadow)
        #expect(
            log.entries.filter { $0.event == "migration.plan" }.map(\.message)
                == [
                    "The plan's stage dualWrite comes late: meanwhile the move has gone to shadow, with a share of 0.0. "
                        + "Move there, or raise the plan's revision."
                ]
        )
        let next = try await moves.client { $0.stage = .dualWrite }
        #expect(try Moves.migration(of: next).stage == .shadow)
        for client in [late, next] { await client.shutdown(within: .zero) }
    }

    @Test(
        "a plan that starts or is followed while another change is made doesn't override that change",
        arguments: Later.allCases,
        [true, false]
    )
    func overtaken(later: Later, isStart: Bool) async throws {
        let moves = Moves()
        try await moves.client().shutdown(within: .zero)
        let interruption = Interruption()
        let racing = RacingStore(moves.store, before: interruption.happen)
        var plan = moves.plan
        plan.stage = .dualWrite
        func client(_ plan: MigrationPlan) async throws -> ExperimentationClient {
            try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
                store: racing.clientStore,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        let late: ExperimentationClient
        if isStart {
            interruption.arm { () async throws(ExperimentationError) in try await later.happen(moves) }
            late = try await client(plan)
        } else {
            late = try await client(moves.plan)
            interruption.arm { () async throws(ExperimentationError) in try await later.happen(moves) }
            try await Moves.migration(of: late).follow(plan)
        }
        #expect(interruption.hasHappened)
        #expect(try Moves.migration(of: late).stage == .shadow)
        #expect(try await moves.standing()?.stage == .shadow)
        // A later version of the plan still goes there.
        plan.revision = 2
        try await Moves.migration(of: late).follow(plan)
        #expect(try Moves.migration(of: late).stage == .dualWrite)
        await late.shutdown(within: .zero)
    }

    @Test("a running instance doesn't apply its plan again after so many later plans that it is forgotten")
    func forgotten() async throws {
        let moves = Moves()
        let (first, other) = (try await moves.client(), try await moves.client())
        for number in 1...8 {
            var plan = moves.plan
            (plan.stage, plan.revision) = (.dualWrite, number)
            try await Moves.migration(of: other).follow(plan)
        }
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: first).current().stage == .dualWrite)
        try await Moves.migration(of: first).noteDealt()
        #expect(try await moves.standing()?.stage == .dualWrite)
        for client in [first, other] { await client.shutdown(within: .zero) }
    }
}
