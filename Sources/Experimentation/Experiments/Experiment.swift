/// A test, a rollout or any other thing that gives users different experiences.
public struct Experiment: Sendable, Hashable, Codable {
    /// The vendor's id.
    public var id: String
    /// The name that people gave it.
    public var name: String
    /// The vendor's word for its kind, such as `ab`; opaque.
    public var kind: String?

    /// Creates an experiment.
    public init(id: String, name: String? = nil, kind: String? = nil) {
        self.id = id
        self.name = name ?? id
        self.kind = kind
    }
}

/// One of the experiences that an experiment gives.
public struct Variation: Sendable, Hashable, Codable {
    /// The vendor's id.
    public var id: String
    /// The name that people gave it.
    public var name: String
    /// Whether it is the one that the others are compared with.
    public var isControl: Bool

    /// Creates a variation.
    public init(id: String, name: String? = nil, isControl: Bool = false) {
        self.id = id
        self.name = name ?? id
        self.isControl = isControl
    }
}

/// A user's place in an experiment.
public struct Assignment: Sendable, Hashable, Codable {
    /// How a user came to a place in an experiment.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// By the vendor's allocation.
        case allocated
        /// By an earlier assignment that is kept.
        case sticky
        /// By the vendor's list of forced users.
        case forcedByVendor
        /// By an ``AssignmentOverride`` of this device.
        case forcedHere
    }

    /// The experiment.
    public var experiment: Experiment
    /// The id that stickiness goes by: the vendor's variation group, or the experiment where it has none.
    public var group: String
    /// The experience given.
    public var variation: Variation
    /// Whether this is a place in a holdout: the user is kept out of other experiments and sees nothing new.
    public var isHoldout: Bool
    /// How the user came to it.
    public var origin: Origin
    /// What else the vendor says of it.
    public var metadata: [String: FlagValue]

    /// Creates an assignment.
    ///
    /// - Parameters:
    ///   - experiment: The experiment.
    ///   - group: What stickiness goes by; the experiment's id if `nil`.
    ///   - variation: The experience given.
    ///   - isHoldout: Whether this is a place in a holdout.
    ///   - origin: How the user came to it.
    ///   - metadata: What else the vendor says of it.
    public init(
        experiment: Experiment,
        group: String? = nil,
        variation: Variation,
        isHoldout: Bool = false,
        origin: Origin = .allocated,
        metadata: [String: FlagValue] = [:]
    ) {
        self.experiment = experiment
        self.group = group ?? experiment.id
        self.variation = variation
        self.isHoldout = isHoldout
        self.origin = origin
        self.metadata = metadata
    }
}

/// What this device forces, against the vendor's allocation; for tests and demonstrations.
public enum AssignmentOverride: Sendable, Hashable, Codable {
    /// Puts the user into an experiment; into the variation with this id or index where one is named.
    case include(experiment: String, variation: String?)
    /// Takes the user out of an experiment.
    case exclude(experiment: String)

    /// The experiment that is forced.
    public var experiment: String {
        switch self {
        case .include(let experiment, _), .exclude(let experiment): experiment
        }
    }
}
