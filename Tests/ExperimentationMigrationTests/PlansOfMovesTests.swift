import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import ExperimentationMigration

@Suite("Plans of a move")
struct PlansOfMovesTests {
    @Test("instances with an earlier plan follow the stage under a later one, and don't pull it back")
    func earlierPlan() async throws {
        let moves = Moves()
        let first = try await moves.client()
        try await Moves.migration(of: first).move(to: .rampDown)
        let second = try await moves.client { $0.stage = .rampDown }
        try await Moves.migration(of: second).noteDealt()
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: first).current().stage == .rampDown)
        // Another instance with the first plan starts, and writes.
        let third = try await moves.client()
        #expect(try Moves.migration(of: third).stage == .rampDown)
        try await Moves.migration(of: first).notePlan()
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: second).current().stage == .rampDown)
        #expect(try await moves.standing()?.stage == .rampDown)
        for client in [first, second, third] { await client.shutdown(within: .zero) }
    }

    @Test("instances with an earlier plan follow a later one that starts, though no user has moved")
    func laterPlan() async throws {
        let moves = Moves()
        let first = try await moves.client()
        let second = try await moves.client { $0.stage = .dualWrite }
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: first).current().stage == .dualWrite)
        try await Moves.migration(of: first).notePlan()
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: second).current().stage == .dualWrite)
        for client in [first, second] { await client.shutdown(within: .zero) }
    }

    @Test("an earlier plan that is deployed again changes nothing and says so; a move goes back")
    func goingBack() async throws {
        let moves = Moves()
        for stage in [MigrationStage.off, .dualWrite] {
            try await moves.client { $0.stage = stage }.shutdown(within: .zero)
        }
        let log = RecordingLog()
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time, log: log)
        )
        let migration = try Moves.migration(of: client)
        #expect(migration.stage == .dualWrite)
        #expect(
            log.entries.filter { $0.event == "migration.plan" }.map(\.message)
                == [
                    "The plan's stage off has been applied before; the move stays at dualWrite, with a share of 0.0. "
                        + "Go back by a move, or raise the plan's revision."
                ]
        )
        try await migration.move(to: .off)
        await client.shutdown(within: .zero)
        let next = try await moves.client { $0.stage = .dualWrite }
        #expect(try Moves.migration(of: next).stage == .off)
        await next.shutdown(within: .zero)
    }

    @Test("an earlier plan goes back with a higher revision, and instances left over don't pull forward again")
    func revised() async throws {
        let moves = Moves()
        try await moves.client().shutdown(within: .zero)
        let left = try await moves.client { $0.stage = .dualWrite }
        let revised = try await moves.client { $0.revision = 1 }
        #expect(try Moves.migration(of: revised).stage == .off)
        moves.time.advance(by: .seconds(3))
        #expect(try await Moves.migration(of: left).current().stage == .off)
        try await Moves.migration(of: left).notePlan()
        let another = try await moves.client { $0.stage = .dualWrite }
        #expect(try Moves.migration(of: another).stage == .off)
        #expect(try await moves.standing()?.plans.last == .init(.off, share: 0, revision: 1))
        for client in [left, revised, another] { await client.shutdown(within: .zero) }
    }

    @Test("a plan that a running instance follows is applied, so a start with it doesn't undo later moves")
    func followed() async throws {
        let moves = Moves()
        let (first, other) = (try await moves.client(), try await moves.client())
        let migration = try Moves.migration(of: first)
        var plan = moves.plan
        plan.stage = .dualWrite
        try await migration.follow(plan)
        #expect(migration.stage == .dualWrite)
        try await Moves.migration(of: other).move(to: .off)
        let second = try await moves.client { $0.stage = .dualWrite }
        #expect(try Moves.migration(of: second).stage == .off)
        // Nor does the plan that the instance began with, once it is forgotten.
        for number in 1...8 {
            plan.revision = number
            try await migration.follow(plan)
        }
        try await migration.move(to: .rampDown)
        moves.time.advance(by: .seconds(3))
        #expect(try await migration.current().stage == .rampDown)
        for client in [first, other, second] { await client.shutdown(within: .zero) }
    }

    @Test("a plan that one instance has followed moves no more when another one follows it later")
    func followedLater() async throws {
        let moves = Moves()
        let log = RecordingLog()
        let first = try await moves.client()
        let second = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time, log: log)
        )
        let migration = try Moves.migration(of: second)
        var plan = moves.plan
        plan.stage = .dualWrite
        try await Moves.migration(of: first).follow(plan)
        try await Moves.migration(of: first).move(to: .off)
        try await migration.follow(plan)
        #expect(migration.stage == .off)
        #expect(try await moves.standing()?.stage == .off)
        #expect(
            log.entries.filter { $0.event == "migration.plan" }.map(\.message)
                == [
                    "The plan's stage dualWrite has been applied before; the move stays at off, with a share of 0.0. "
                        + "Go back by a move, or raise the plan's revision."
                ]
        )
        // The plan before it goes back, and then this plan counts as another one again.
        try await migration.move(to: .shadow)
        try await migration.follow(moves.plan)
        #expect(migration.stage == .off)
        try await migration.follow(plan)
        #expect(migration.stage == .dualWrite)
        for client in [first, second] { await client.shutdown(within: .zero) }
    }

    @Test("a refused move from outside leaves the stored stage as it was, even under a plan that is new")
    func refusedFromOutside() async throws {
        let moves = Moves(canBeTold: false)
        try await moves.client().shutdown(within: .zero)
        var plan = moves.plan
        plan.stage = .dualWrite
        let provider = MigratingProvider(from: moves.old, to: moves.new, plan: plan)
        let before = try await moves.standing()
        await #expect(throws: ExperimentationError.self) {
            try await MigrationRecord.move(
                to: .live,
                with: provider,
                in: moves.store.state,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        #expect(try await moves.standing() == before)
    }

    @Test("a move from outside is checked from the move's current stage, not from its plan's stage")
    func aheadFromOutside() async throws {
        let moves = Moves()
        try await moves.client().shutdown(within: .zero)
        let before = try await moves.standing()
        let error = await #expect(throws: ExperimentationError.self) {
            try await move(moves, to: .complete) { ($0.stage, $0.share) = (.live, 0.5) }
        }
        #expect(
            error?.message
                == "The move to complete is held: users who come back only then would lose what old has dealt them; "
                + "go through live or rampDown"
        )
        #expect(try await moves.standing() == before)
    }

    @Test("a move back from outside isn't held by what its plan's stage would need")
    func backFromOutside() async throws {
        let moves = Moves(experiments: 2)
        let client = try await moves.client()
        try await Moves.migration(of: client).move(to: .rampDown)
        await client.shutdown(within: .zero)
        let record = try await move(moves, to: .off) { plan in
            (plan.stage, plan.share) = (.live, 0.5)
            plan.mapping = Moves.mapping(1)
        }
        #expect(record.stage == .off)
        let standing = try await moves.standing()
        #expect(standing?.stage == .off)
        #expect(standing?.plans == [.init(.off, share: 0), .init(.live, share: 0.5)])
    }

    /// Moves from outside, with another plan.
    private func move(
        _ moves: Moves,
        to stage: MigrationStage,
        under change: (inout MigrationPlan) -> Void
    ) async throws -> MigrationRecord {
        var plan = moves.plan
        change(&plan)
        return try await MigrationRecord.move(
            to: stage,
            with: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            in: moves.store.state,
            environment: ClientEnvironment(time: moves.time)
        )
    }

    @Test("eight applied plans are remembered; the oldest one then counts as new again")
    func bounded() {
        func plan(_ number: Int) -> MigrationPlan { MigrationPlan(stage: .live, share: Double(number) / 10) }
        var standing = Standing(stage: .live, share: 0)
        for number in 1...7 { standing = standing.under(plan(number)) }
        #expect(standing.share == 0.7)
        for number in 0...7 { #expect(standing.under(plan(number)) == standing, "\(number)") }
        standing = standing.under(plan(8))
        #expect(standing.under(plan(1)).share == 0.8)
        #expect(standing.under(plan(0)).share == 0)
    }

    @Test("the record of a stage can be read by earlier versions, and theirs can be read here")
    func coding() throws {
        let standing = Standing(stage: .off, share: 0).under(MigrationPlan(stage: .live, share: 0.5))
        let data = try JSONEncoder().encode(standing)
        #expect(try JSONDecoder().decode(Standing.self, from: data) == standing)
        let members = try #require(try JSONSerialization.jsonObject(with: data) as? [String: any Sendable])
        #expect(members["planned"] as? String == "live")
        #expect(members["plannedShare"] as? Double == 0.5)
        let former = #"{"planned":"off","plannedShare":0,"share":0.5,"stage":"live"}"#
        let read = try JSONDecoder().decode(Standing.self, from: Data(former.utf8))
        #expect(read.plans == [.init(.off, share: 0)])
        #expect(read.stage == .live && read.share == 0.5)
    }
}
