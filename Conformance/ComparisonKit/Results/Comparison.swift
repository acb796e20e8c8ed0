import ConformanceKit
import Experimentation

/// One story, as it went with each vendor.
public struct Comparison: Sendable, Hashable, Codable {
    /// The scenario's name.
    public var scenario: String
    /// What the scenario is, in a line.
    public var title: String
    /// The story in a few sentences.
    public var summary: String
    /// How often it was played with each vendor; what isn't a latency comes from the first round.
    public var rounds: Int
    /// What happened, in order.
    public var steps: [StepName]
    /// How it went, vendor by vendor.
    public var vendors: [VendorStory]

    /// A step of the story.
    public struct StepName: Sendable, Hashable, Codable {
        /// Counts up from 1.
        public var number: Int
        /// What happens, for a person.
        public var title: String
        /// The action's key, as scenarios have it.
        public var action: String

        /// Creates a step's name.
        public init(number: Int, title: String, action: String) {
            self.number = number
            self.title = title
            self.action = action
        }
    }

    /// Creates a comparison.
    public init(
        scenario: String,
        title: String,
        summary: String = "",
        rounds: Int = 1,
        steps: [StepName],
        vendors: [VendorStory]
    ) {
        self.scenario = scenario
        self.title = title
        self.summary = summary
        self.rounds = rounds
        self.steps = steps
        self.vendors = vendors
    }

    /// How the story went with one vendor, or `nil`.
    public func story(of vendor: String) -> VendorStory? { vendors.first { $0.name == vendor } }

    /// A copy without latencies, which differ from run to run.
    public var withoutTimings: Comparison {
        var copy = self
        for index in copy.vendors.indices { copy.vendors[index].dropTimings() }
        return copy
    }

    /// Whether the vendors did not all do the same at a step, in what an application can see.
    public func differs(at step: Int) -> Bool {
        Set(vendors.map { $0.outcome(of: step)?.visible }).count > 1
    }
}

/// How the story went with one vendor.
public struct VendorStory: Sendable, Hashable, Codable {
    /// The vendor's name.
    public var name: String
    /// What its adapter declares.
    public var capabilities: [Capability]
    /// Why what isn't declared isn't there, for people.
    public var reasons: [String: String]
    /// The deviations from the neutral contract that are known.
    public var deviations: [KnownDeviation]
    /// What of the scenario's world the vendor can't hold.
    public var gaps: [WorldGap]
    /// What became of each step.
    public var outcomes: [StepOutcome]
    /// Every exchange of the first round.
    public var exchanges: [Exchange]
    /// The accounts at the end.
    public var ledger: Ledger
    /// What the vendor took, by type.
    public var received: [String: Int]
    /// How many arrivals were repetitions of an event that the vendor had already.
    public var repeated: Int
    /// How many events were said to be delivered and never arrived.
    public var lost: Int
    /// How many seconds of the story passed until the application noticed that the kill switch was on; `nil` if it was
    /// never turned on, or never noticed.
    public var killSwitchSeconds: Int?
    /// Why the story ended early, if it did.
    public var failure: String?

    /// Creates the beginning of a story.
    public init(
        name: String,
        capabilities: [Capability] = [],
        reasons: [String: String] = [:],
        deviations: [KnownDeviation] = [],
        gaps: [WorldGap] = [],
        outcomes: [StepOutcome] = [],
        exchanges: [Exchange] = [],
        ledger: Ledger = Ledger(),
        received: [String: Int] = [:],
        repeated: Int = 0,
        lost: Int = 0,
        killSwitchSeconds: Int? = nil,
        failure: String? = nil
    ) {
        self.name = name
        self.capabilities = capabilities
        self.reasons = reasons
        self.deviations = deviations
        self.gaps = gaps
        self.outcomes = outcomes
        self.exchanges = exchanges
        self.ledger = ledger
        self.received = received
        self.repeated = repeated
        self.lost = lost
        self.killSwitchSeconds = killSwitchSeconds
        self.failure = failure
    }

    /// What became of one step, or `nil` if the story didn't come so far.
    public func outcome(of step: Int) -> StepOutcome? { outcomes.first { $0.step == step } }

    /// All traffic together.
    public var traffic: Traffic { outcomes.reduce(into: Traffic()) { $0.add($1.traffic) } }

    /// How many exposures the vendor took.
    public var exposures: Int { received["exposure"] ?? 0 }

    mutating func dropTimings() {
        for index in outcomes.indices { outcomes[index].latency = nil }
    }
}

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
    /// How it stands with the session afterwards.
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

    /// What an application can see of it; the wire and the time are left out.
    var visible: Visible {
        Visible(
            kind: kind,
            error: error,
            value: evaluation?.value,
            reason: evaluation?.reason,
            flagError: evaluation?.error,
            variation: assignment?.variation,
            accepted: events.accepted,
            delivered: events.delivered,
            pending: events.pending,
            purged: events.purged
        )
    }

    struct Visible: Hashable {
        var kind: Kind
        var error: String?
        var value: FlagValue?
        var reason: String?
        var flagError: String?
        var variation: String?
        var accepted: Int
        var delivered: Int
        var pending: Int
        var purged: Int
    }
}

/// What went over the wire.
public struct Traffic: Sendable, Hashable, Codable {
    /// How many requests.
    public var requests: Int
    /// How many bytes the requests took, heads and bodies.
    public var bytesSent: Int
    /// How many bytes the answers took, heads and bodies.
    public var bytesReceived: Int
    /// How many connections were opened for them.
    public var connections: Int

    /// Creates an account of nothing, or of something.
    public init(requests: Int = 0, bytesSent: Int = 0, bytesReceived: Int = 0, connections: Int = 0) {
        self.requests = requests
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.connections = connections
    }

    mutating func add(_ other: Traffic) {
        requests += other.requests
        bytesSent += other.bytesSent
        bytesReceived += other.bytesReceived
        connections += other.connections
    }
}

/// How long something took over several rounds.
public struct Latency: Sendable, Hashable, Codable {
    /// The median, in milliseconds.
    public var p50: Double
    /// What ninety-nine of a hundred stay below, in milliseconds.
    public var p99: Double

    /// Creates a latency.
    public init(p50: Double, p99: Double) {
        self.p50 = p50
        self.p99 = p99
    }

    /// Creates the latency of some measurements; `nil` if there are none.
    public init?(of measured: [Duration]) {
        guard !measured.isEmpty else { return nil }
        let sorted = measured.sorted()
        func at(_ share: Double) -> Double {
            let index = Int((Double(sorted.count - 1) * share).rounded(.up))
            let parts = sorted[min(index, sorted.count - 1)].components
            let milliseconds = Double(parts.seconds) * 1000 + Double(parts.attoseconds) / 1e15
            return (milliseconds * 1000).rounded() / 1000
        }
        self.init(p50: at(0.5), p99: at(0.99))
    }
}

/// What happened to events during a step, but for ``pending``, which is how it stands after it.
public struct EventCount: Sendable, Hashable, Codable {
    /// How many were accepted.
    public var accepted: Int
    /// How many were delivered.
    public var delivered: Int
    /// How many wait now.
    public var pending: Int
    /// How many were removed because consent was withdrawn.
    public var purged: Int
    /// How many were given up.
    public var dropped: Int

    /// Creates a count.
    public init(accepted: Int = 0, delivered: Int = 0, pending: Int = 0, purged: Int = 0, dropped: Int = 0) {
        self.accepted = accepted
        self.delivered = delivered
        self.pending = pending
        self.purged = purged
        self.dropped = dropped
    }

    /// Creates the count of what happened between two accounts.
    public init(from before: Ledger, to after: Ledger) {
        self.init(
            accepted: after.accepted - before.accepted,
            delivered: after.delivered - before.delivered,
            pending: after.pending,
            purged: after.purged - before.purged,
            dropped: after.dropped.values.reduce(0, +) - before.dropped.values.reduce(0, +)
        )
    }
}
