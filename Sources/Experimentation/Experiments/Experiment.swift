/// A test, a rollout or anything else that gives users different experiences.
public struct Experiment: Sendable, Hashable, Codable {
    /// The vendor's id.
    public var id: String
    /// The experiment's name in the vendor's console.
    public var name: String
    /// The vendor's name for its kind, such as `ab`; opaque to the framework.
    public var kind: String?

    /// Creates an experiment.
    public init(id: String, name: String? = nil, kind: String? = nil) {
        self.id = id
        self.name = name ?? id
        self.kind = kind
    }
}

/// One of an experiment's experiences.
public struct Variation: Sendable, Hashable, Codable {
    /// The vendor's id.
    public var id: String
    /// The variation's name in the vendor's console.
    public var name: String
    /// Whether this is the control that the others are compared with.
    public var isControl: Bool

    /// Creates a variation.
    public init(id: String, name: String? = nil, isControl: Bool = false) {
        self.id = id
        self.name = name ?? id
        self.isControl = isControl
    }
}

/// A user's variation in an experiment.
public struct Assignment: Sendable, Hashable, Codable {
    /// How a user was assigned.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// By the vendor's allocation.
        case allocated
        /// By an earlier assignment that was kept.
        case sticky
        /// By the vendor's list of forced users.
        case forcedByVendor
        /// By an ``AssignmentOverride`` of this device.
        case forcedHere
    }

    /// The experiment.
    public var experiment: Experiment
    /// The id that stickiness is keyed by: the vendor's variation group, or the experiment if it has none.
    public var group: String
    /// The variation that the user gets.
    public var variation: Variation
    /// Whether this is a holdout: the user is kept out of other experiments and sees nothing new.
    public var isHoldout: Bool
    /// How the user was assigned.
    public var origin: Origin
    /// Further information from the vendor.
    public var metadata: [String: FlagValue]

    /// Creates an assignment.
    ///
    /// - Parameters:
    ///   - experiment: The experiment.
    ///   - group: The id that stickiness is keyed by; the experiment's id if `nil`.
    ///   - variation: The variation that the user gets.
    ///   - isHoldout: Whether this is a holdout.
    ///   - origin: How the user was assigned.
    ///   - metadata: Further information from the vendor.
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

extension Assignment {
    /// The metadata key of ``answerer``.
    package static let answererKey = "migration"

    /// Which side of a move made the assignment; equal ids at both are different assignments.
    package var answerer: String? { metadata[Self.answererKey]?.stringValue }

    /// The metadata key of ``part``.
    package static let partKey = "provider"

    /// Which vendor of a composition made the assignment; equal ids at two of them are different assignments.
    package var part: String? { metadata[Self.partKey]?.stringValue }
}

/// An assignment that this device forces against the vendor's allocation, for tests and demonstrations.
public enum AssignmentOverride: Sendable, Hashable, Codable {
    /// Puts the user into an experiment, and into the variation with this id or index if there is one.
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
