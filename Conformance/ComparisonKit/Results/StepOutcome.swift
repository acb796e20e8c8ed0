import Experimentation

/// What became of one step with one vendor.
public struct StepOutcome: Sendable, Hashable, Codable {
    /// How it ended.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// It was done.
        case done
        /// The vendor has nothing like it.
        case unsupported
        /// It was done in vain; the application was told so.
        case failed
        /// It hung or broke where nothing may.
        case broken
    }

    /// The step's number.
    public var step: Int
    /// How it ended.
    public var kind: Kind
    /// Why, or what there is to say of it.
    public var note: String?
    /// The code of the error that the application was given.
    public var error: String?
    /// What a flag was read as.
    public var evaluation: Evaluation?
    /// What the user's place in an experiment was.
    public var assignment: Place?
    /// What went over the wire.
    public var traffic: Traffic
    /// How long it took.
    public var latency: Latency?
    /// What happened to events.
    public var events: EventCount
    /// The state of the session afterwards.
    public var status: ProviderStatus
    /// The numbers of the exchanges that belong to it.
    public var exchanges: [Int]

    /// What a flag was read as.
    public struct Evaluation: Sendable, Hashable, Codable {
        /// The flag.
        public var flag: String
        /// The value, which may be the default.
        public var value: FlagValue
        /// The vendor's name for it.
        public var variant: String?
        /// Why it is that.
        public var reason: String
        /// What went wrong.
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
        /// How the user came to it.
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
