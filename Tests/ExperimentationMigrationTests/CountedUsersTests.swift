import Experimentation
import Testing

@testable import ExperimentationMigration

@Suite("Users who count in the tests of exposures")
struct CountedUsersTests {
    private static func exposure(of user: Int) -> Assignment {
        Assignment(
            experiment: Experiment(id: "e0"),
            group: "e0",
            variation: Variation(id: user.isMultiple(of: 2) ? "a" : "b")
        )
    }

    @Test("a user is counted once, however many others come in between", arguments: [100, 1_000, 10_000])
    func once(limit: Int) throws {
        var plan = MigrationPlan(mapping: Moves.mapping(1))
        plan.share = 0.5
        let tally = Tally(plan, countingUsers: limit)
        func counts() throws -> [Int] { try #require(tally.snapshot.arms.exposed["old/e0"]).test.countsByArm }
        for user in 0..<3_000 {
            tally.expose(Self.exposure(of: user), user: "user-\(user)", to: .old, in: .shadow)
        }
        let first = try counts()
        for stage in [MigrationStage.shadow, .live, .live] {
            for user in 0..<3_000 {
                tally.expose(Self.exposure(of: user), user: "user-\(user)", to: .old, in: stage)
            }
        }
        #expect(try counts() == first)
        #expect(tally.snapshot.exposures[.old] == 12_000)
        let all = first.reduce(0, +)
        #expect(limit > 3_000 ? all == 3_000 : all >= limit && all < 3_000)
        let inLive = try #require(tally.snapshot.armsByStage[.live]?.exposed["old/e0"]).test.countsByArm.reduce(0, +)
        #expect(inLive <= min(limit, 3_000) && inLive > min(limit, 3_000) / 4)
    }

    @Test("the users who count are sampled regardless of their arm, so the test stays valid")
    func drawn() throws {
        let tally = Tally(MigrationPlan(mapping: Moves.mapping(1)), countingUsers: 500)
        for user in 0..<40_000 {
            tally.expose(Self.exposure(of: user), user: "user-\(user)", to: .old, in: .live)
        }
        let test = try #require(tally.snapshot.arms.exposed["old/e0"]).test
        #expect(test.countsByArm.reduce(0, +) > 500)
        #expect(test.pValue > 0.01)
    }
}
