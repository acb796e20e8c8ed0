import Experimentation

/// Where a move stands, and what it has seen.
public struct MigrationReport: Sendable, Hashable {
    /// A sample-ratio test at one moment.
    public struct Ratio: Sendable, Hashable {
        /// The arms with how many users each has got.
        public var counts: [String: Int]
        /// The sequential p-value.
        public var pValue: Double
        /// Whether users fall otherwise than they should; all tests of a move share one false alarm in a thousand.
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
    /// The share of users whom the new vendor answers while the move is live.
    public var share: Double
    /// Why the move couldn't go where it was last told to go.
    public var held: [String]
    /// How many users were given a side, by this instance.
    public var pinned: [MigrationSide: Int]
    /// How many users saw another variation than before; zero where the plan promises it.
    public var changed: Int
    /// How many flags of users were compared.
    public var compared: Int
    /// How many comparisons were dropped because too many waited.
    public var dropped: Int
    /// Mismatches that were seen once, by class.
    public var observed: [Mismatch.Kind: Int]
    /// Mismatches that are ones, by class.
    public var confirmed: [Mismatch.Kind: Int]
    /// How often a user could notice; its bound is valid whenever one looks.
    public var rate: MismatchRate
    /// The newest confirmed mismatches.
    public var recent: [Mismatch]
    /// How long each vendor took to decide.
    public var latencies: [MigrationSide: LatencyHistogram]
    /// Exposures that each vendor has taken.
    public var exposures: [MigrationSide: Int]
    /// Events that one vendor has taken and the other has no word for.
    public var unsupported: [MigrationSide: Int]
    /// The test of the two sides; `nil` if one of them gets nobody.
    public var sides: Ratio?
    /// The tests of first places, by the old vendor's experiment.
    public var allocations: [String: Ratio]
    /// The tests of exposures, by the old vendor's experiment.
    public var exposed: [String: Ratio]
    /// The same tests over each stage by itself; a stage without users isn't there.
    public var stages: [MigrationStage: StageRatios]
}

extension MigrationReport.Ratio {
    /// Takes a test at this moment, with the names of its arms.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - arms: The names, in the order of the weights.
    ///   - level: The p-value from which on it is an alarm.
    public init(_ test: SampleRatioTest, arms: [String], level: Double = 0.001) {
        counts = Dictionary(zip(arms, test.countsByArm), uniquingKeysWith: +)
        pValue = test.pValue
        isAlarming = test.isAlarming(level: level)
    }
}
