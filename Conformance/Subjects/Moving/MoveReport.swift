import Experimentation
import ExperimentationMigration

/// What came of a simulated move.
public struct MoveReport: Sendable {
    /// What happened in one step.
    public struct Stage: Sendable {
        /// What is told of it.
        public var title: String
        /// Where the move was to go.
        public var stage: MigrationStage
        /// The share of users.
        public var share: Double
        /// Where it was then.
        public var reached: MigrationStage
        /// Why it couldn't go on, if it couldn't.
        public var held: [String] = []
        /// How many users came.
        public var users = 0
        /// How many users each vendor answered.
        public var ledBy: [String: Int] = [:]
        /// How many users got no answer, and so kept what they had or saw the default.
        public var failed = 0
        /// How often a user saw another variation than before.
        public var changedVariant = 0
        /// Who was away.
        public var away: String?
        /// Whether the process was killed before.
        public var isKilled = false

        init(title: String, stage: MigrationStage, share: Double) {
            self.title = title
            self.stage = stage
            self.share = share
            reached = stage
        }
    }

    /// What became of the exposures at one vendor.
    public struct Exposures: Sendable {
        /// How many there should be: one for each visit and experiment that this vendor answered.
        public var expected: Int
        /// How many the vendor took.
        public var received: Int
        /// How many belonged to a vendor that takes none.
        public var unsupported: Int
        /// How many were counted more than once.
        public var twice: Int { max(received - expected, 0) }
        /// How many weren't counted.
        public var missing: Int { max(expected - received, 0) }
    }

    /// What became of the events at one vendor.
    public struct Accounts: Sendable {
        /// What waits.
        public var status: OutboxStatus
        /// The accounts.
        public var ledger: Ledger
    }

    /// The vendor that was left.
    public var old: String
    /// The vendor that was moved to.
    public var new: String
    /// How many users there were.
    public var users: Int
    /// The experiments that ran.
    public var experiments: [String] = []
    /// What wasn't played, and why.
    public var leftOut: [String] = []
    /// How often a user saw another variation than before.
    public var changedVariant = 0
    /// How often a user who had had a place in an experiment had none.
    public var unassigned = 0
    /// The first of those changes, for a person.
    public var changes: [String] = []
    /// How many flags of users were compared in the shadow.
    public var compared = 0
    /// How many comparisons were dropped because too many waited.
    public var dropped = 0
    /// Confirmed mismatches by class.
    public var mismatches: [Mismatch.Kind: Int] = [:]
    /// The sample-ratio test of first places, by experiment.
    public var ratios: [String: MigrationReport.Ratio] = [:]
    /// Exposures by vendor.
    public var exposures: [String: Exposures] = [:]
    /// Ledgers by vendor.
    public var ledgers: [String: Accounts] = [:]
    /// Events that the other vendor took and this one has no word for.
    public var unsupported: [String: Int] = [:]
    /// What happened, step by step.
    public var stages: [Stage] = []

    init(old: String, new: String, users: Int) {
        self.old = old
        self.new = new
        self.users = users
    }

    /// Whether nobody saw another variation, no exposure was lost, none was counted twice but by a kill, and both books balance.
    public var isGood: Bool {
        let isKilled = stages.contains(where: \.isKilled)
        return changedVariant == 0 && unassigned == 0
            && exposures.values.allSatisfy { ($0.twice == 0 || isKilled) && $0.missing == 0 }
            && ledgers.values.allSatisfy(\.ledger.isBalanced) && !ratios.values.contains(where: \.isAlarming)
    }
}
