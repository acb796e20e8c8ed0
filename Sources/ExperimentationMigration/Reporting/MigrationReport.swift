import Experimentation

/// A move's current stage and counts.
public struct MigrationReport: Sendable, Hashable {
    /// The state of a sample-ratio test.
    public struct Ratio: Sendable, Hashable {
        /// The number of users in each arm.
        public var counts: [String: Int]
        /// The sequential p-value.
        public var pValue: Double
        /// Whether users are distributed otherwise than intended; all tests of a move share one false alarm in a
        /// thousand moves.
        public var isAlarming: Bool
    }

    /// The sample-ratio tests over one stage.
    public struct StageRatios: Sendable, Hashable {
        /// The tests of first places that were given in the stage, by the old vendor's experiment.
        public var allocations: [String: Ratio]
        /// The tests of users' first exposures in the stage, by the old vendor's experiment.
        public var exposed: [String: Ratio]
    }

    /// The stage.
    public var stage: MigrationStage
    /// The share of users that the new vendor leads in the stage `live`.
    public var share: Double
    /// Why the last requested move was refused.
    public var held: [String]
    /// The number of users that this instance pinned to each side.
    public var pinned: [MigrationSide: Int]
    /// The number of users who saw a changed variation, each counted once; zero where the plan promises it.
    public var changed: Int
    /// The number of comparisons, one for each flag and user.
    public var compared: Int
    /// The number of comparisons dropped because the queue was full.
    public var dropped: Int
    /// Mismatches at the first look, by class.
    public var observed: [Mismatch.Kind: Int]
    /// Confirmed mismatches, by class.
    public var confirmed: [Mismatch.Kind: Int]
    /// Mismatches that were neither confirmed nor gone, because a configuration changed at each look, by class; the rate
    /// leaves them out.
    public var undecided: [Mismatch.Kind: Int]
    /// The rate of mismatches that users could notice; its bound is valid at any time.
    public var rate: MismatchRate
    /// The most recent confirmed mismatches.
    public var recent: [Mismatch]
    /// The latencies of each vendor's decisions.
    public var latencies: [MigrationSide: LatencyHistogram]
    /// The number of exposures that each vendor accepted.
    public var exposures: [MigrationSide: Int]
    /// For each vendor, the number of events that it doesn't support and that were delivered to the other one, in
    /// stages that send to both, since this instance's start; exposures go to only one vendor anyway.
    public var unsupported: [MigrationSide: Int]
    /// The ledger of each destination; empty in a report that was made without the client, see
    /// ``Migration/report(of:)``.
    public var ledgers: [Destination: Ledger] = [:]
    /// The test of the sides; `nil` if one side gets no users.
    public var sides: Ratio?
    /// The tests of first places, by the old vendor's experiment.
    public var allocations: [String: Ratio]
    /// The tests of exposures, by the old vendor's experiment.
    public var exposed: [String: Ratio]
    /// The same tests over each stage by itself; a stage without users is missing.
    public var stages: [MigrationStage: StageRatios]
}

extension MigrationReport.Ratio {
    /// Creates the state of a test.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - arms: The names of the arms, in the order of the weights.
    ///   - level: The p-value at or below which it raises an alarm.
    public init(_ test: SampleRatioTest, arms: [String], level: Double = 0.001) {
        counts = Dictionary(zip(arms, test.countsByArm), uniquingKeysWith: +)
        pValue = test.pValue
        isAlarming = test.isAlarming(level: level)
    }
}
