import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

/// A whole move on embedded mocks: users come and go, the stages go forth and back, a vendor is away for a while, the process is
/// killed and starts again.
public struct MoveSimulation: Sendable {
    /// One step of the story.
    public struct Step: Sendable {
        /// What is told of it.
        public var title: String
        /// Where the move goes.
        public var stage: MigrationStage
        /// The share of users whom the new vendor answers while the move is live.
        public var share: Double
        /// The vendor that is away meanwhile.
        public var away: MigrationSide?
        /// Whether the process is killed before the step.
        public var isKilled = false

        /// Creates a step.
        public init(
            _ title: String,
            _ stage: MigrationStage,
            share: Double = 0,
            away: MigrationSide? = nil,
            kill: Bool = false
        ) {
            self.title = title
            self.stage = stage
            self.share = share
            self.away = away
            isKilled = kill
        }
    }

    /// The vendor that is left.
    public var old: any ConformanceSubject
    /// The vendor that is moved to.
    public var new: any ConformanceSubject
    /// What each vendor holds.
    public var worlds: [MigrationSide: World]
    /// How the move is to go; its stage and share are those of the steps.
    public var plan: MigrationPlan
    /// How many users there are.
    public var users: Int
    /// The story.
    public var steps: [Step]
    /// What goes wrong besides.
    public var faults: [MoveFault] = []
    /// The store that outlives the processes.
    public var store: ClientStore
    /// How many users are in the shop at once.
    public var crowd = 16

    /// Creates a simulation over the shop's world, with all that is assigned carried along.
    public init(from old: any ConformanceSubject, to new: any ConformanceSubject, users: Int = 1_000) {
        self.old = old
        self.new = new
        self.users = users
        worlds = [.old: .movingShop, .new: .movingShop]
        plan = MigrationPlan(mapping: World.movingShop.ownMapping)
        steps = Self.story
        store = .inMemory()
    }

    /// Has a plan of one's own played: its experiments under the names that each vendor has for them, or those of the shop if
    /// it maps none.
    public mutating func play(_ plan: MigrationPlan) {
        self.plan = plan
        self.plan.mapping = plan.mapping.playable
        guard !plan.mapping.experiments.isEmpty else { return }
        for side in MigrationSide.allCases { worlds[side] = plan.mapping.world(at: side) }
    }

    /// Forth, back, forth again, and out.
    public static let story: [Step] = [
        Step("The old vendor alone", .off),
        Step("Events to both", .dualWrite),
        Step("The new vendor in the shadow", .shadow),
        Step("A tenth of the users", .live, share: 0.1),
        Step("Half of the users, after a crash", .live, share: 0.5, kill: true),
        Step("The new vendor is away", .live, share: 0.5, away: .new),
        Step("Back into the shadow", .shadow, share: 0.5),
        Step("Live again, with fewer", .live, share: 0.3),
        Step("Everybody", .live, share: 1),
        Step("The old vendor only listens", .rampDown, share: 1, kill: true),
        Step("Back once more", .live, share: 0.8),
        Step("Out", .rampDown, share: 1),
        Step("The new vendor alone", .complete, share: 1),
    ]

    /// What is told while it runs.
    public struct Progress: Sendable {
        /// The step.
        public var step: Int
        /// How many steps there are.
        public var steps: Int
        /// How many users have been in the shop in this step.
        public var users: Int
    }

    /// Plays the move.
    ///
    /// - Parameter progress: Called now and then.
    /// - Returns: What came of it.
    /// - Throws: When a mock can't be started, or the plan can't work at all.
    public func run(_ progress: @Sendable (Progress) -> Void = { _ in }) async throws -> MoveReport {
        let stages = [
            try await old.open(worlds[.old] ?? .movingShop), try await new.open(worlds[.new] ?? .movingShop),
        ]
        var run = MoveRun(self, stages)
        do {
            try await run.play(progress)
            let report = try await run.report()
            for stage in stages { await stage.close() }
            return report
        } catch {
            for stage in stages { await stage.close() }
            throw error
        }
    }
}
