import Experimentation

/// The outcome of a step with one vendor.
public struct StepOutcome: Sendable, Hashable, Codable {
    /// How a step ended.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// It succeeded.
        case done
        /// The vendor doesn't support it.
        case unsupported
        /// It failed, and the application got the error.
        case failed
        /// It hung or broke where that must not happen.
        case broken
    }

    /// The step's number.
    public var step: Int
    /// How it ended.
    public var kind: Kind
    /// The reason, or a remark.
    public var note: String?
    /// The code of the error that the application got.
    public var error: String?
    /// The flag evaluation.
    public var evaluation: Evaluation?
    /// The user's place in an experiment.
    public var assignment: Place?
    /// The traffic on the wire.
    public var traffic: Traffic
    /// The latency.
    public var latency: Latency?
    /// What happened to events.
    public var events: EventCount
    /// The session's state afterwards.
    public var status: ProviderStatus
    /// The numbers of its exchanges.
    public var exchanges: [Int]
    /// Which of several vendors took part, in their order: those that answered, took an event or were asked; `nil` for
    /// a single vendor.
    public var by: [String]?

    /// The evaluation of a flag.
    public struct Evaluation: Sendable, Hashable, Codable {
        /// The flag.
        public var flag: String
        /// The value, which may be the default.
        public var value: FlagValue
        /// The vendor's name for it.
        public var variant: String?
        /// The reason.
        public var reason: String
        /// The error code.
        public var error: String?

        /// Creates an evaluation.
        public init(flag: String, value: FlagValue, variant: String? = nil, reason: String, error: String? = nil) {
            self.flag = flag
            self.value = value
            self.variant = variant
            self.reason = reason
            self.error = error
        }
    }

    /// A user's place in an experiment.
    public struct Place: Sendable, Hashable, Codable {
        /// The experiment's id.
        public var experiment: String
        /// The variation's id.
        public var variation: String
        /// Whether it is the control.
        public var isControl: Bool
        /// How the user was assigned to it.
        public var origin: String

        /// Creates a place.
        public init(experiment: String, variation: String, isControl: Bool, origin: String) {
            self.experiment = experiment
            self.variation = variation
            self.isControl = isControl
            self.origin = origin
        }
    }

    /// Creates an outcome.
    public init(
        step: Int,
        kind: Kind = .done,
        note: String? = nil,
        error: String? = nil,
        evaluation: Evaluation? = nil,
        assignment: Place? = nil,
        traffic: Traffic = Traffic(),
        latency: Latency? = nil,
        events: EventCount = EventCount(),
        status: ProviderStatus = .notReady,
        exchanges: [Int] = []
    ) {
        self.step = step
        self.kind = kind
        self.note = note
        self.error = error
        self.evaluation = evaluation
        self.assignment = assignment
        self.traffic = traffic
        self.latency = latency
        self.events = events
        self.status = status
        self.exchanges = exchanges
    }
}
