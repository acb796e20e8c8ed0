/// What became of a batch.
public struct DeliveryReport: Sendable {
    /// The verdict on each event by its id; an event without one is retried as after an outage.
    public var verdicts: [String: Verdict]
    /// Campaigns that came back, in the order of the vendor's answers.
    public var campaigns: [ReceivedCampaign]
    /// Whether the vendor said that its kill switch is on.
    public var isDisabled: Bool

    /// Creates a report.
    public init(
        verdicts: [String: Verdict] = [:],
        campaigns: [ReceivedCampaign] = [],
        isDisabled: Bool = false
    ) {
        self.verdicts = verdicts
        self.campaigns = campaigns
        self.isDisabled = isDisabled
    }

    /// Creates a report that says the same of every event.
    public init(_ verdict: Verdict, for batch: [Envelope]) {
        self.init(verdicts: Dictionary(batch.map { ($0.id, verdict) }, uniquingKeysWith: { $1 }))
    }

    /// Adds another part's report to this one.
    public mutating func merge(_ other: DeliveryReport) {
        verdicts.merge(other.verdicts) { $1 }
        campaigns.append(contentsOf: other.campaigns)
        isDisabled = isDisabled || other.isDisabled
    }
}

/// What became of one event.
public enum Verdict: Sendable, Hashable {
    /// The vendor has it.
    case delivered
    /// The vendor couldn't be reached or asked for patience: try again, at no cost to the event.
    ///
    /// - Parameter after: How long the vendor asks to wait, if it does.
    case outage(after: Duration? = nil)
    /// The vendor didn't take it, for a reason that may lie in the event: try again, and count the attempt.
    case failed(String)
    /// The batch was refused as a whole, or the event wasn't sent because an earlier one of its user was refused: try such
    /// events again in halves, at once and at no cost, to find the one that is to blame.
    ///
    /// A user one of whose events has to wait keeps the later ones as well.
    case split(String)
    /// The vendor will never take it.
    case rejected(String)
    /// Nothing can be delivered until somebody mends the settings; keep everything and say so.
    case stop(ExperimentationError)

    /// Compares by case and text.
    public static func == (one: Verdict, other: Verdict) -> Bool {
        switch (one, other) {
        case (.delivered, .delivered): true
        case (.outage(let one), .outage(let other)): one == other
        case (.failed(let one), .failed(let other)): one == other
        case (.split(let one), .split(let other)): one == other
        case (.rejected(let one), .rejected(let other)): one == other
        case (.stop(let one), .stop(let other)): one == other
        default: false
        }
    }

    /// Hashes the case and text.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .delivered: hasher.combine(0)
        case .outage(let after): hasher.combine(after)
        case .failed(let text), .split(let text), .rejected(let text): hasher.combine(text)
        case .stop(let error): hasher.combine(error.code)
        }
    }
}

/// A campaign that came back as the answer to an event.
public struct ReceivedCampaign: Sendable, Hashable {
    /// The event that it answers.
    public var eventID: String
    /// The campaign.
    public var campaign: Campaign

    /// Creates a received campaign.
    public init(eventID: String, campaign: Campaign) {
        self.eventID = eventID
        self.campaign = campaign
    }
}
