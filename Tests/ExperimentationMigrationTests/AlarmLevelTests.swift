import Experimentation
import Testing

@testable import ExperimentationMigration

@Suite("The alarm level of a move")
struct AlarmLevelTests {
    /// Experiments whose second arm should get one user in a thousand.
    static func mapped(_ count: Int) -> [ExperimentMapping] {
        (0..<count).map { index in
            ExperimentMapping(
                old: .init("e\(index)"),
                new: .init("x\(index)"),
                variations: ["a": "A", "b": "B"],
                weights: ["a": 999, "b": 1]
            )
        }
    }

    /// Counts users into the second arm of a move's first experiment.
    static func tally(_ mapped: [ExperimentMapping], users: Int) -> Tally {
        let tally = Tally(MigrationPlan(stage: .live, share: 0.5, mapping: Mapping(mapped)))
        for _ in 0..<users { tally.allocate(["old/e0": Person.Place(variation: "b", by: .old)], in: .live) }
        return tally
    }

    @Test("all tests of a move share a false-alarm rate of 1 in 1,000: data that alarms in one test may not in twenty")
    func isShared() {
        // For 17 such users, the p-value is 0.00009; for 20, 0.000004.
        #expect(!Self.tally(Self.mapped(1), users: 17).alarms.isEmpty)
        #expect(Self.tally(Self.mapped(20), users: 17).alarms.isEmpty)
        #expect(!Self.tally(Self.mapped(20), users: 20).alarms.isEmpty)
        #expect(Self.tally(Self.mapped(1), users: 10).alarms.isEmpty)
    }

    @Test("experiments without weights use up no part of that rate")
    func unweighted() {
        let others = (1..<20).map { index in
            ExperimentMapping(old: .init("e\(index)"), new: .init("x\(index)"), variations: ["a": "A"])
        }
        #expect(!Self.tally(Self.mapped(1) + others, users: 17).alarms.isEmpty)
    }

    @Test("a stage that assigns wrongly isn't hidden by the users from before it")
    func stageAlone() {
        let even = ExperimentMapping(
            old: .init("e0"),
            new: .init("x0"),
            variations: ["a": "A", "b": "B"],
            weights: ["a": 1, "b": 1]
        )
        let tally = Tally(MigrationPlan(stage: .live, share: 0.5, mapping: Mapping([even])))
        func come(_ users: Int, in stage: MigrationStage, _ variation: (Int) -> String) {
            for user in 0..<users {
                tally.allocate(["old/e0": Person.Place(variation: variation(user), by: .old)], in: stage)
            }
        }
        come(100_000, in: .shadow) { $0.isMultiple(of: 2) ? "a" : "b" }
        #expect(tally.alarms.isEmpty)
        come(600, in: .live) { _ in "b" }
        #expect(!tally.alarms.isEmpty)
        let (whole, stages) = (tally.snapshot.arms, tally.snapshot.armsByStage)
        #expect(whole.alarming(level: tally.level).isEmpty)
        #expect(stages[.live]?.alarming(level: tally.stageLevel).isEmpty == false)
        #expect(stages[.shadow]?.alarming(level: tally.stageLevel).isEmpty == true)
    }
}
