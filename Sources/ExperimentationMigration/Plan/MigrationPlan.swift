import Experimentation

/// How a move is to go: the stage, the share of users, which experiment is which, and what is promised to users.
///
/// ```swift
/// let plan = MigrationPlan(stage: .shadow, mapping: mapping)
/// let provider = MigratingProvider(from: flagship, to: sigma, plan: plan)
/// ```
public struct MigrationPlan: Sendable, Hashable {
    /// Whether users may see another variation than before.
    public enum Reassignment: String, Sendable, Hashable, Codable {
        /// Nobody changes variation: a stage that can't keep that is refused. The default.
        case refused
        /// The new vendor deals anew.
        case accepted
    }

    /// What lowering or raising the share means for users who have been dealt with.
    public enum Pins: String, Sendable, Hashable, Codable {
        /// They stay with the vendor that they have. The default.
        case kept
        /// They go by the share, whatever they had.
        case ignored
    }

    /// A flag that names the stage: `"shadow"`, or with a share `"live:0.25"`.
    public struct StageFlag: Sendable, Hashable, Codable {
        /// Whose flag it is.
        public var side: MigrationSide
        /// The flag's key.
        public var key: String

        /// Creates a stage flag.
        public init(of side: MigrationSide, key: String) {
            self.side = side
            self.key = key
        }
    }

    /// The stage to begin with.
    public var stage: MigrationStage
    /// The share of users whom the new vendor answers when the move is live, from 0 to 1.
    public var share: Double
    /// Goes into the hash by which a user's side is chosen: another move, another salt.
    public var salt: String
    /// Which experiment is which.
    public var mapping: Mapping
    /// Whether users may see another variation than before.
    public var reassignment: Reassignment
    /// What a change of the share means for users who have been dealt with.
    public var pins: Pins
    /// A flag that names the stage, if it isn't to be named here or by ``Migration/move(to:share:)``.
    public var stageFlag: StageFlag?
    /// Whether an alarm of the sample-ratio test holds the move where it is.
    public var holdsOnAlarm: Bool
    /// How shadows are asked and compared.
    public var shadow: ShadowPolicy

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - stage: The stage to begin with.
    ///   - share: The share of users whom the new vendor answers when the move is live, from 0 to 1.
    ///   - mapping: Which experiment is which.
    ///   - salt: What tells this move from another.
    public init(
        stage: MigrationStage = .off,
        share: Double = 0,
        mapping: Mapping = Mapping(),
        salt: String = "migration"
    ) {
        self.stage = stage
        self.share = share
        self.salt = salt
        self.mapping = mapping
        reassignment = .refused
        pins = .kept
        holdsOnAlarm = true
        shadow = ShadowPolicy()
    }

    /// What is wrong with this plan by itself.
    public func faults() -> [PlanFault] {
        var faults = mapping.faults()
        if !(share.isFinite && (0...1).contains(share)) {
            faults.append(PlanFault("share", "expected a number from 0 to 1, found \(share)"))
        }
        if salt.isEmpty { faults.append(PlanFault("salt", "expected a text")) }
        if stageFlag?.key.isEmpty == true { faults.append(PlanFault("stageFlag.key", "expected a flag's key")) }
        if shadow.workers < 1 { faults.append(PlanFault("shadow.workers", "expected 1 or more")) }
        if shadow.waiting < 0 { faults.append(PlanFault("shadow.waiting", "expected 0 or more")) }
        return faults
    }

    /// Refuses a plan that can't work, with the first fault.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    func validate() throws(ExperimentationError) {
        if let fault = faults().first { throw ExperimentationError(.configuration, "The plan: \(fault)") }
    }
}

/// How shadows are asked and compared: bounded, so that they cost the reader nothing.
public struct ShadowPolicy: Sendable, Hashable {
    /// How many shadows are asked at once.
    public var workers: Int
    /// How many wait beside them; what comes then is dropped and counted.
    public var waiting: Int
    /// How long a shadow may take; what comes later is late.
    public var deadline: Duration
    /// How long both configurations must have been unchanged for a mismatch to count.
    public var moment: Duration
    /// Whether shadows run at background priority: on a busy machine they wait, and are dropped, before they slow a reader.
    public var isInBackground: Bool

    /// Creates a policy.
    public init(
        workers: Int = 4,
        waiting: Int = 256,
        deadline: Duration = .seconds(5),
        moment: Duration = .milliseconds(200),
        isInBackground: Bool = true
    ) {
        self.workers = workers
        self.waiting = waiting
        self.deadline = deadline
        self.moment = moment
        self.isInBackground = isInBackground
    }
}
