import Experimentation

/// A move from one vendor to another behind a stage, as the `migration/…` cases steer and observe it.
public protocol SubjectMove: Sendable {
    /// The vendor that users come from; its account is the current client's.
    var old: SubjectPart { get }
    /// The vendor that users go to.
    var new: SubjectPart { get }

    /// Sets the plan of all clients created from now on.
    ///
    /// Until then, clients start in the subject's own stage, and no mismatch is looked at twice.
    func follow(_ plan: MovePlan)

    /// Moves a client to another stage.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - stage: The target stage.
    ///   - share: The share of users that the new vendor leads in the stage `live`; unchanged if `nil`.
    /// - Throws: Why the move is held.
    func move(
        _ client: ExperimentationClient,
        to stage: MoveStage,
        share: Double?
    ) async throws(ExperimentationError)

    /// What a client reports about its move.
    func sight(of client: ExperimentationClient) throws -> MoveSight

    /// The name of the vendor that made an assignment; `nil` if the assignment doesn't say.
    func answerer(of assignment: Assignment) -> String?
}

/// The progress of a move, in the words of the neutral contract.
public enum MoveStage: String, Sendable, Hashable, CaseIterable {
    /// The old vendor alone.
    case off
    /// The old vendor answers; both get events.
    case dualWrite
    /// The same, and the new vendor is asked in the shadow.
    case shadow
    /// The new vendor answers a share of the users.
    case live
    /// The new vendor answers; both get events.
    case rampDown
    /// The new vendor alone.
    case complete
}

/// The plan of a move, as far as cases set it.
public struct MovePlan: Sendable, Hashable {
    /// A fault in the mapping of experiments.
    public enum Flaw: Sendable, Hashable, CaseIterable {
        /// Two variations of the old vendor lead to one of the new vendor.
        case mappedTwice
        /// A variation of the old vendor leads to one that the new vendor doesn't have.
        case unknownVariation
        /// A variation of the old vendor leads nowhere.
        case unmapped
    }

    /// The initial stage.
    public var stage: MoveStage
    /// The share of users that the new vendor answers in the stage `live`.
    public var share: Double
    /// Whether users must keep their variations; otherwise they may be reassigned.
    public var keepsVariations = true
    /// The number of shadows that may wait while one is asked.
    public var waitingShadows = 64
    /// The deadline of a shadow.
    public var shadowDeadline: Duration = .seconds(5)
    /// The fault in the mapping; `nil` for none.
    public var flaw: Flaw?

    /// Creates a plan.
    public init(_ stage: MoveStage, share: Double = 0) {
        self.stage = stage
        self.share = share
    }
}

/// What a client reports about its move.
public struct MoveSight: Sendable, Hashable {
    /// The stage.
    public var stage: MoveStage
    /// The share of users that the new vendor answers in the stage `live`.
    public var share: Double
    /// The number of flags compared.
    public var compared: Int
    /// The number of comparisons dropped because too many were waiting.
    public var dropped: Int
    /// The number of users who saw a changed variation.
    public var changed: Int
    /// The confirmed mismatches that a user could notice.
    public var mismatches: [MoveMismatch]

    /// Creates a sight.
    public init(
        stage: MoveStage,
        share: Double,
        compared: Int,
        dropped: Int,
        changed: Int,
        mismatches: [MoveMismatch]
    ) {
        self.stage = stage
        self.share = share
        self.compared = compared
        self.dropped = dropped
        self.changed = changed
        self.mismatches = mismatches
    }
}

/// A disagreement between the two vendors about a flag for a user.
public struct MoveMismatch: Sendable, Hashable {
    /// One vendor's answer.
    public struct Answer: Sendable, Hashable {
        /// The value; `nil` if there is none.
        public var value: FlagValue?
        /// The reason for the value.
        public var reason: Reason?
        /// The error of the flag or of the whole answer.
        public var code: ErrorCode?
        /// The time that the vendor took.
        public var latency: Duration
        /// The version of its rules, where they are published.
        public var version: String?
        /// The age of its rules.
        public var age: Duration?

        /// Creates an answer.
        public init(
            _ value: FlagValue?,
            reason: Reason?,
            code: ErrorCode?,
            latency: Duration,
            version: String?,
            age: Duration?
        ) {
            self.value = value
            self.reason = reason
            self.code = code
            self.latency = latency
            self.version = version
            self.age = age
        }
    }

    /// The flag.
    public var key: String
    /// The type of the value.
    public var type: String
    /// The class: `late`, `error`, `missing`, `type` or `value`.
    public var kind: String
    /// The name of the vendor that answered the user.
    public var leader: String
    /// The old vendor's answer.
    public var old: Answer
    /// The new vendor's answer.
    public var new: Answer
    /// A digest of the user's id; never the id itself.
    public var user: String

    /// Creates a mismatch.
    public init(
        key: String,
        type: String,
        kind: String,
        leader: String,
        old: Answer,
        new: Answer,
        user: String
    ) {
        self.key = key
        self.type = type
        self.kind = kind
        self.leader = leader
        self.old = old
        self.new = new
        self.user = user
    }
}
