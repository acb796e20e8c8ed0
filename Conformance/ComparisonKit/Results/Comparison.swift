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
    /// How times were measured; `nil` without times.
    public var timing: Timing?
    /// The month that ``VendorStory/monthly`` tells the cost of, if it was asked for.
    public var usage: Usage?
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
        copy.timing = nil
        for index in copy.vendors.indices { copy.vendors[index].dropTimings() }
        return copy
    }
}

/// How the story went with one vendor.
public struct VendorStory: Sendable, Hashable, Codable {
    /// The vendor's name.
    public var name: String
    /// What its adapter declares.
    public var capabilities: [Capability]
    /// How what it declares, and how the ways of the stand-in, are known.
    public var evidence: Evidence
    /// Why what isn't declared isn't there, for people.
    public var reasons: [String: String]
    /// The deviations from the neutral contract that are known.
    public var deviations: [KnownDeviation]
    /// The types of events that the adapter has no word for, each with the reason, for people.
    public var refusedEvents: [String: String]
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
    /// How many arrivals were repetitions of an event that the vendor had already; `nil` if it can't be told.
    public var repeated: Int?
    /// How many events were said to be delivered and never arrived; `nil` if it can't be told.
    public var lost: Int?
    /// What of each type of event is on the vendor's wire.
    public var fidelity: [EventFidelity]
    /// How many seconds of the story passed until the application noticed that the kill switch was on; `nil` if it was
    /// never turned on, or never noticed.
    public var killSwitchSeconds: Int?
    /// What the story showed of absence, signing in and withdrawn consent.
    public var findings: Findings
    /// How its traffic grows with flags and events, if that was asked for.
    public var growth: Growth?
    /// What ``Comparison/usage`` takes with it; `nil` if it wasn't asked for or can't be told.
    public var monthly: MonthlyCost?
    /// Why the story ended early, if it did.
    public var failure: String?

    /// Creates the beginning of a story.
    public init(
        name: String,
        capabilities: [Capability] = [],
        evidence: Evidence = Evidence(),
        reasons: [String: String] = [:],
        deviations: [KnownDeviation] = [],
        refusedEvents: [String: String] = [:],
        gaps: [WorldGap] = [],
        outcomes: [StepOutcome] = [],
        exchanges: [Exchange] = [],
        ledger: Ledger = Ledger(),
        received: [String: Int] = [:],
        repeated: Int? = 0,
        lost: Int? = 0,
        fidelity: [EventFidelity] = [],
        killSwitchSeconds: Int? = nil,
        findings: Findings = Findings(),
        failure: String? = nil
    ) {
        self.name = name
        self.capabilities = capabilities
        self.evidence = evidence
        self.reasons = reasons
        self.deviations = deviations
        self.refusedEvents = refusedEvents
        self.gaps = gaps
        self.outcomes = outcomes
        self.exchanges = exchanges
        self.ledger = ledger
        self.received = received
        self.repeated = repeated
        self.lost = lost
        self.fidelity = fidelity
        self.killSwitchSeconds = killSwitchSeconds
        self.findings = findings
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
