import Experimentation

/// The settings of a move: stage, share of users, mapping, and the promises to users.
///
/// ```swift
/// let plan = MigrationPlan(stage: .shadow, mapping: mapping)
/// let provider = MigratingProvider(from: flagship, to: sigma, plan: plan)
/// ```
public struct MigrationPlan: Sendable, Hashable {
    /// Whether users may be assigned another variation.
    public enum Reassignment: String, Sendable, Hashable, Codable, CaseIterable {
        /// No: a stage that can't keep variations is refused. The default.
        case refused
        /// Yes: the new vendor assigns users anew.
        case accepted
    }

    /// How a change of the share affects users who already have a side.
    public enum Pins: String, Sendable, Hashable, Codable, CaseIterable {
        /// They stay with their vendor. The default.
        case kept
        /// They are drawn again by the new share.
        case ignored
    }

    /// A flag whose value names the stage: `"shadow"`, or with a share `"live:0.25"`.
    public struct StageFlag: Sendable, Hashable, Codable {
        /// The vendor that has the flag.
        public var side: MigrationSide
        /// The flag's key.
        public var key: String

        /// Creates a stage flag.
        public init(of side: MigrationSide, key: String) {
            self.side = side
            self.key = key
        }
    }

    /// The initial stage.
    public var stage: MigrationStage
    /// The share of users that the new vendor leads in the stage `live`, from 0 to 1.
    public var share: Double
    /// The number of this version of the plan, from 0.
    ///
    /// Raise it to go back to an earlier plan's stage: with another number, the plan counts as not applied yet.
    public var revision: Int
    /// The salt of the hash that draws sides; use another one for each move, and don't change it during a move.
    public var salt: String
    /// The mapping of experiments.
    public var mapping: Mapping
    /// Whether users may be assigned another variation.
    public var reassignment: Reassignment
    /// How a change of the share affects users who already have a side.
    public var pins: Pins
    /// A flag that names the stage, as an alternative to this plan and ``Migration/move(to:share:)``.
    public var stageFlag: StageFlag?
    /// Whether a sample-ratio alarm holds the move in its stage.
    public var holdsOnAlarm: Bool
    /// How shadows are asked and compared.
    public var shadow: ShadowPolicy

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - stage: The initial stage.
    ///   - share: The share of users that the new vendor leads in the stage `live`, from 0 to 1.
    ///   - mapping: The mapping of experiments.
    ///   - salt: The salt of the hash that draws sides.
    public init(
        stage: MigrationStage = .off,
        share: Double = 0,
        mapping: Mapping = Mapping(),
        salt: String = "migration"
    ) {
        self.stage = stage
        self.share = share
        revision = 0
        self.salt = salt
        self.mapping = mapping
        reassignment = .refused
        pins = .kept
        holdsOnAlarm = true
        shadow = ShadowPolicy()
    }

    /// Returns the plan's own faults.
    public func faults() -> [PlanFault] {
        var faults = mapping.faults()
        if !(share.isFinite && (0...1).contains(share)) {
            faults.append(PlanFault("share", "expected a number from 0 to 1, found \(share)"))
        }
        if revision < 0 { faults.append(PlanFault("revision", "expected a whole number from 0, found \(revision)")) }
        if salt.isEmpty { faults.append(PlanFault("salt", "expected a text that is not empty")) }
        if stageFlag?.key.isEmpty == true { faults.append(PlanFault("stageFlag.key", "expected a flag's key")) }
        if shadow.workers < 1 { faults.append(PlanFault("shadow.workers", "expected 1 or more")) }
        if shadow.waiting < 0 { faults.append(PlanFault("shadow.waiting", "expected 0 or more")) }
        return faults
    }

    /// The name by which a store knows the move: another new account, or another salt, is another move.
    func name(to new: Destination) -> String { String(Digest.hex("migration/move", new.account, salt).prefix(32)) }

    /// The digest by which a store knows a new vendor's account.
    static func digest(of new: Destination) -> String {
        String(Digest.hex("migration/account", new.account).prefix(32))
    }

    /// Throws the first fault, if any.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    func validate() throws(ExperimentationError) {
        if let fault = faults().first { throw ExperimentationError(.configuration, "The plan: \(fault)") }
    }
}

/// How shadows are asked and compared; bounded, so that readers never wait for them.
public struct ShadowPolicy: Sendable, Hashable {
    /// The maximum number of concurrent shadows.
    public var workers: Int
    /// The maximum number that wait for a worker; further ones are dropped and counted.
    public var waiting: Int
    /// The deadline of a shadow; after it, the answer is `late`.
    public var deadline: Duration
    /// The delay before the second look that confirms a mismatch.
    public var moment: Duration
    /// Whether shadows run at background priority, so that a busy machine delays them rather than readers.
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
