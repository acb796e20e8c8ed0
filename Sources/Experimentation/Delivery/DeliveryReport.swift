/// What became of a batch.
public struct DeliveryReport: Sendable {
    /// Mostly a vendor says the same of a whole batch; then nothing is looked up by the ids of its events.
    private enum Content: Sendable {
        case same(Verdict, [Envelope])
        case each([String: Verdict])
    }

    private var content: Content
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
        content = .each(verdicts)
        self.campaigns = campaigns
        self.isDisabled = isDisabled
    }

    /// Creates a report that says the same of every event.
    public init(_ verdict: Verdict, for batch: [Envelope]) {
        content = .same(verdict, batch)
        campaigns = []
        isDisabled = false
    }

    /// The verdict on each event by its id; an event without one is retried as after an outage.
    public var verdicts: [String: Verdict] {
        get {
            switch content {
            case .same(let verdict, let batch): Dictionary(batch.map { ($0.id, verdict) }, uniquingKeysWith: { $1 })
            case .each(let verdicts): verdicts
            }
        }
        _modify {
            var verdicts = verdicts
            content = .each([:])
            defer { content = .each(verdicts) }
            yield &verdicts
        }
    }

    /// The verdicts on the events of a batch, in its order.
    func verdicts(on batch: [Envelope]) -> [Verdict?] {
        if case .same(let verdict, let events) = content, batch.count == events.count,
            batch.indices.allSatisfy({ batch[$0].id == events[$0].id })
        {
            return Array(repeating: verdict, count: batch.count)
        }
        let verdicts = verdicts
        return batch.indices.map { verdicts[batch[$0].id] }
    }

    /// Adds another part's report to this one.
    public mutating func merge(_ other: DeliveryReport) {
        if case .each(let verdicts) = content, verdicts.isEmpty {
            content = other.content
        } else {
            verdicts.merge(other.verdicts) { $1 }
        }
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
