import ConformanceKit
import Experimentation
import ExperimentationMigration
import Synchronization

/// A complete move on embedded mocks: users come and go, stages advance and roll back, a vendor is unreachable for a
/// while, and the process is killed and restarted.
public struct MoveSimulation: Sendable {
    /// A step of the simulation.
    public struct Step: Sendable {
        /// The step's title.
        public var title: String
        /// The stage that the move goes to.
        public var stage: MigrationStage
        /// The share of users that the new vendor answers in the live stage.
        public var share: Double
        /// The vendor that is unreachable during the step.
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

    /// The old vendor.
    public var old: any ConformanceSubject
    /// The new vendor.
    public var new: any ConformanceSubject
    /// The world of each vendor.
    public var worlds: [MigrationSide: World]
    /// The plan of the move; steps override its stage and share.
    public var plan: MigrationPlan
    /// The number of users.
    public var users: Int
    /// The steps, in order.
    public var steps: [Step]
    /// Further faults.
    public var faults: [MoveFault] = []
    /// The store that outlives the processes.
    public var store: ClientStore
    /// The maximum number of concurrent users.
    public var crowd = 16

    /// Creates a simulation of the shop's world that carries all assignments.
    public init(from old: any ConformanceSubject, to new: any ConformanceSubject, users: Int = 1_000) {
        self.old = old
        self.new = new
        self.users = users
        worlds = [.old: .movingShop, .new: .movingShop]
        plan = MigrationPlan(mapping: World.movingShop.ownMapping)
        steps = Self.story
        store = .inMemory()
    }

    /// Uses a custom plan, with its experiments under each vendor's names, or the shop's experiments if it maps none.
    public mutating func play(_ plan: MigrationPlan) {
        self.plan = plan
        self.plan.mapping = plan.mapping.playable
        guard !plan.mapping.experiments.isEmpty else { return }
        for side in MigrationSide.allCases { worlds[side] = plan.mapping.world(at: side) }
    }

    /// The default steps: forward, back, forward again, and finished.
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

    /// The progress of a run.
    public struct Progress: Sendable {
        /// The current step.
        public var step: Int
        /// The number of steps.
        public var steps: Int
        /// The number of users who have visited in this step.
        public var users: Int
    }

    /// Runs the simulation.
    ///
    /// - Parameter progress: Called from time to time.
    /// - Returns: The result.
    /// - Throws: When a mock can't be started, or the plan is invalid.
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
