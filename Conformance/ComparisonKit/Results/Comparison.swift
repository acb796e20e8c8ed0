import ConformanceKit
import Experimentation

/// A scenario, as it went with each vendor.
public struct Comparison: Sendable, Hashable, Codable {
    /// The scenario's name.
    public var scenario: String
    /// The scenario's title.
    public var title: String
    /// The scenario in a few sentences.
    public var summary: String
    /// The number of rounds with each vendor; everything but latencies comes from the first round.
    public var rounds: Int
    /// How times were measured; `nil` without times.
    public var timing: Timing?
    /// The month whose cost ``VendorStory/monthly`` states, if it was requested.
    public var usage: Usage?
    /// What happened, in order.
    public var steps: [StepName]
    /// The results by vendor.
    public var vendors: [VendorStory]

    /// A step of the scenario.
    public struct StepName: Sendable, Hashable, Codable {
        /// The number, counting from 1.
        public var number: Int
        /// The step's title.
        public var title: String
        /// The key of its action in scenario documents.
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

    /// Returns the story of a vendor; `nil` if there is none.
    public func story(of vendor: String) -> VendorStory? { vendors.first { $0.name == vendor } }

    /// A copy without latencies, which differ from run to run.
    public var withoutTimings: Comparison {
        var copy = self
        copy.timing = nil
        for index in copy.vendors.indices { copy.vendors[index].dropTimings() }
        return copy
    }
}

/// How a scenario went with one vendor.
public struct VendorStory: Sendable, Hashable, Codable {
    /// The vendor's name.
    public var name: String
    /// The declared capabilities.
    public var capabilities: [Capability]
    /// How the declared capabilities and the mock's behavior are known.
    public var evidence: Evidence
    /// Why the other capabilities are missing.
    public var reasons: [String: String]
    /// The known deviations from the neutral contract.
    public var deviations: [KnownDeviation]
    /// The event types that the adapter doesn't support, with the reasons.
    public var refusedEvents: [String: String]
    /// The parts of the scenario's world that the vendor can't represent.
    public var gaps: [WorldGap]
    /// The outcome of each step.
    public var outcomes: [StepOutcome]
    /// Every exchange of the first round.
    public var exchanges: [Exchange]
    /// The final ledger.
    public var ledger: Ledger
    /// The number of events that the vendor accepted, by type.
    public var received: [String: Int]
    /// The number of repeated events that the vendor received; `nil` if they can't be recognized.
    public var repeated: Int?
    /// The number of events reported as delivered that never arrived; `nil` if they can't be recognized.
    public var lost: Int?
    /// How much of each event type reaches the vendor's wire.
    public var fidelity: [EventFidelity]
    /// The time until the application noticed the kill switch, in seconds of the scenario; `nil` if it was never turned
    /// on, or never noticed.
    public var killSwitchSeconds: Int?
    /// What the scenario showed about offline use, log-in and withdrawn consent.
    public var findings: Findings
    /// How its traffic grows with flags and events, if that was requested.
    public var growth: Growth?
    /// The cost of ``Comparison/usage`` with this vendor; `nil` if it wasn't requested or is unknown.
    public var monthly: MonthlyCost?
    /// Why the story ended early, if it did.
    public var failure: String?

    /// Creates an empty story.
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

    /// Returns the outcome of a step; `nil` if the story ended before.
    public func outcome(of step: Int) -> StepOutcome? { outcomes.first { $0.step == step } }

    /// The total traffic.
    public var traffic: Traffic { outcomes.reduce(into: Traffic()) { $0.add($1.traffic) } }

    /// The number of exposures that the vendor accepted.
    public var exposures: Int { received["exposure"] ?? 0 }

    mutating func dropTimings() {
        for index in outcomes.indices { outcomes[index].latency = nil }
    }
}
