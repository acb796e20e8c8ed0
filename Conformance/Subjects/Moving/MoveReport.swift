import Experimentation
import ExperimentationMigration

/// The result of a simulated move.
public struct MoveReport: Sendable {
    /// The result of one step.
    public struct Stage: Sendable {
        /// The step's title.
        public var title: String
        /// The requested stage.
        public var stage: MigrationStage
        /// The requested share of users.
        public var share: Double
        /// The stage that was reached.
        public var reached: MigrationStage
        /// Why the move was held; empty if it wasn't.
        public var held: [String] = []
        /// The number of users who visited.
        public var users = 0
        /// The number of users answered, by vendor.
        public var ledBy: [String: Int] = [:]
        /// The number of users without an answer, who kept their decisions or got the default.
        public var failed = 0
        /// How often a user saw a different variation than before.
        public var changedVariant = 0
        /// The vendor that was unreachable, if any.
        public var away: String?
        /// Whether the process was killed before the step.
        public var isKilled = false

        init(title: String, stage: MigrationStage, share: Double) {
            self.title = title
            self.stage = stage
            self.share = share
            reached = stage
        }
    }

    /// The exposures at one vendor.
    public struct Exposures: Sendable {
        /// The expected number: one per visit and experiment that this vendor answered.
        public var expected: Int
        /// The number that the vendor accepted.
        public var received: Int
        /// The number owed to a vendor that doesn't support exposures.
        public var unsupported: Int
        /// The number that arrived beyond a user's exposures to an experiment.
        public var twice: Int
        /// The number that a user caused in an experiment and that didn't arrive.
        public var missing: Int
        /// The number that arrived for no user or experiment of the move.
        public var unexpected: Int

        /// Whether the wire carries ids, so that a repeated delivery doesn't count as another exposure.
        var tellsRepeats: Bool

        init(_ sum: ExposureBook.Sum, isTaking: Bool, tellsRepeats: Bool) {
            self.tellsRepeats = tellsRepeats
            expected = isTaking ? sum.expected : 0
            received = sum.received
            unsupported = isTaking ? 0 : sum.expected
            twice = sum.twice
            missing = isTaking ? sum.missing : 0
            unexpected = sum.unexpected
        }
    }

    /// The events at one vendor.
    public struct Accounts: Sendable {
        /// The waiting events.
        public var status: OutboxStatus
        /// The ledger.
        public var ledger: Ledger
    }

    /// The old vendor.
    public var old: String
    /// The new vendor.
    public var new: String
    /// The number of users.
    public var users: Int
    /// The experiments that were running.
    public var experiments: [String] = []
    /// What wasn't simulated, and why.
    public var leftOut: [String] = []
    /// How often a user saw a different variation than before.
    public var changedVariant = 0
    /// How often a user lost their place in an experiment.
    public var unassigned = 0
    /// Descriptions of the first of those changes.
    public var changes: [String] = []
    /// The number of flag values compared with the shadow.
    public var compared = 0
    /// The number of comparisons dropped because too many were waiting.
    public var dropped = 0
    /// Confirmed mismatches by class.
    public var mismatches: [Mismatch.Kind: Int] = [:]
    /// The sample-ratio test of first assignments, by experiment.
    public var ratios: [String: MigrationReport.Ratio] = [:]
    /// Exposures by vendor.
    public var exposures: [String: Exposures] = [:]
    /// Ledgers by vendor.
    public var ledgers: [String: Accounts] = [:]
    /// Events that the other vendor accepted and this one doesn't support, by vendor.
    public var unsupported: [String: Int] = [:]
    /// The results of the steps, in order.
    public var stages: [Stage] = []

    /// Whether the plan promises that variations stay.
    var keepsVariations = true
    /// Whether there were faults besides those of the story.
    var hasFaults = false

    init(old: String, new: String, users: Int) {
        self.old = old
        self.new = new
        self.users = users
    }

    /// Whether the move went through without breaking a promise.
    ///
    /// No step was held; no variation or place was lost, unless the plan accepts it; no exposure was missed or counted
    /// twice; nothing waits or, without faults, was dropped; both ledgers balance, and no sample ratio is alarming.
    public var isGood: Bool {
        // A killed process may have delivered what the next one delivers again; without ids a vendor can't tell.
        let isKilled = stages.contains(where: \.isKilled)
        return (!keepsVariations || (changedVariant == 0 && unassigned == 0)) && stages.allSatisfy(\.held.isEmpty)
            && exposures.values.allSatisfy { sum in
                (sum.twice == 0 || (isKilled && !sum.tellsRepeats)) && sum.missing == 0 && sum.unexpected == 0
            }
            && ledgers.values.allSatisfy { accounts in
                let ledger = accounts.ledger
                return ledger.isBalanced && ledger.pending == 0
                    && (hasFaults || ledger.dropped.values.allSatisfy { $0 == 0 })
            }
            && !ratios.values.contains(where: \.isAlarming)
    }
}
