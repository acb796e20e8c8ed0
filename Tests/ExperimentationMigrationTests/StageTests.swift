import ExperimentationMigration
import Testing

@Suite("Stages of a move")
struct StageTests {
    struct Row: Sendable {
        let stage: MigrationStage
        let leader: MigrationSide?
        let hasShadow: Bool
        let toOld: Bool
        let toNew: Bool
    }

    static let rows = [
        Row(stage: .off, leader: .old, hasShadow: false, toOld: true, toNew: false),
        Row(stage: .dualWrite, leader: .old, hasShadow: false, toOld: true, toNew: true),
        Row(stage: .shadow, leader: .old, hasShadow: true, toOld: true, toNew: true),
        Row(stage: .live, leader: nil, hasShadow: true, toOld: true, toNew: true),
        Row(stage: .rampDown, leader: .new, hasShadow: false, toOld: true, toNew: true),
        Row(stage: .complete, leader: .new, hasShadow: false, toOld: false, toNew: true),
    ]

    @Test("the stage determines who leads, who is asked in the shadow and where events go", arguments: rows)
    func table(row: Row) {
        #expect(row.stage.leader == row.leader)
        #expect(row.stage.hasShadow == row.hasShadow)
        #expect(row.stage.sendsEvents(to: .old) == row.toOld)
        #expect(row.stage.sendsEvents(to: .new) == row.toNew)
    }

    @Test("stages are ordered as a move goes through them")
    func order() {
        #expect(MigrationStage.allCases.map(\.order) == Array(0..<6))
        #expect(Self.rows.map(\.stage) == MigrationStage.allCases)
    }
}
