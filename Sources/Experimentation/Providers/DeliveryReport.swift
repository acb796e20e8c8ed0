/// The outcome of a batch.
///
/// An event without a verdict, or beyond the end of the report, got no answer and is retried as after an outage.
/// Verdicts beyond the end of the batch are ignored.
public struct DeliveryReport: Sendable {
    /// The verdicts on a batch.
    public enum Verdicts: Sendable, Hashable {
        /// The same verdict on every event.
        case all(Verdict)
        /// A verdict on each event, in the order of the batch; `nil` where there was no answer.
        case each([Verdict?])
    }

    /// The verdicts on the events.
    public var verdicts: Verdicts
    /// Campaigns in the vendor's answers, in their order.
    public var campaigns: [ReceivedCampaign]
    /// Whether the vendor said that its kill switch is on.
    public var isDisabled: Bool

    /// Creates a report with the same verdict on every event.
    public init(_ verdict: Verdict, campaigns: [ReceivedCampaign] = [], isDisabled: Bool = false) {
        self.init(.all(verdict), campaigns, isDisabled)
    }

    /// Creates a report with a verdict on each event, in the order of the batch.
    public init(_ verdicts: [Verdict?], campaigns: [ReceivedCampaign] = [], isDisabled: Bool = false) {
        self.init(.each(verdicts), campaigns, isDisabled)
    }

    /// Creates a report in which no event got an answer, for adapters that fill in verdicts one by one.
    ///
    /// - Parameter count: The number of events in the batch.
    public init(noAnswerTo count: Int) {
        self.init(.each(Array(repeating: nil, count: max(count, 0))), [], false)
    }

    private init(_ verdicts: Verdicts, _ campaigns: [ReceivedCampaign], _ isDisabled: Bool) {
        self.verdicts = verdicts
        self.campaigns = campaigns
        self.isDisabled = isDisabled
    }

    /// The verdict on the event at a position of the batch; `nil` if there is none.
    ///
    /// A report with the same verdict on every event doesn't know how many there are: setting one verdict leaves the
    /// later positions without one, and their events are sent again. Give it the size of the batch first, with
    /// `report.verdicts = .each(report.verdicts(count: batch.count))`.
    public subscript(index: Int) -> Verdict? {
        get {
            switch verdicts {
            case .all(let verdict): index >= 0 ? verdict : nil
            case .each(let each): each.indices.contains(index) ? each[index] : nil
            }
        }
        set {
            guard index >= 0, self[index] != newValue else { return }
            var each =
                switch verdicts {
                case .all(let verdict): [Verdict?](repeating: verdict, count: index)
                case .each(let each): each
                }
            // Otherwise the list would have two owners, and setting one verdict would copy it.
            verdicts = .each([])
            if index >= each.count { each.append(contentsOf: repeatElement(nil, count: index - each.count + 1)) }
            each[index] = newValue
            verdicts = .each(each)
        }
    }

    /// The verdicts on a batch of this size, in its order; `nil` at positions that the report doesn't have.
    public func verdicts(count: Int) -> [Verdict?] {
        let count = max(count, 0)
        switch verdicts {
        case .all(let verdict): return Array(repeating: verdict, count: count)
        case .each(let each) where each.count == count: return each
        case .each(let each): return Array(each.prefix(count)) + repeatElement(nil, count: max(count - each.count, 0))
        }
    }

    /// Adds the report on a part of the batch.
    ///
    /// - Parameters:
    ///   - part: The report on the part.
    ///   - places: The positions of the part's events in the batch.
    public mutating func add(_ part: DeliveryReport, at places: some Collection<Int>) {
        for (place, verdict) in zip(places, part.verdicts(count: places.count)) { self[place] = verdict }
        campaigns += part.campaigns
        isDisabled = isDisabled || part.isDisabled
    }
}

/// The outcome of one event.
public enum Verdict: Sendable, Hashable {
    /// The vendor has it.
    case delivered
    /// The vendor couldn't be reached or asked for patience: try again, without counting an attempt.
    ///
    /// - Parameters:
    ///   - after: How long the vendor asked to wait, if it did.
    ///   - because: The reason; shown to people while the event waits.
    case outage(after: Duration? = nil, because: OutageReason = .noAnswer)
    /// The vendor didn't take it, for a reason that may lie in the event: try again, and count the attempt.
    case failed(String)
    /// The batch was refused as a whole, or the event wasn't sent because an earlier one of its user was refused.
    ///
    /// Try such events again in halves, at once and without counting an attempt, to find the one at fault.
    /// When one event of a user has to wait, the user's later events wait too.
    case split(String)
    /// The vendor will never take it.
    case rejected(String)
    /// Nothing can be delivered until the settings are fixed; keep everything and report it.
    case stop(ExperimentationError)

    /// Compares by case and text.
    public static func == (one: Verdict, other: Verdict) -> Bool {
        switch (one, other) {
        case (.delivered, .delivered): true
        case (.outage(let one, let why), .outage(let other, let reason)): one == other && why == reason
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
        case .outage(let after, let reason):
            hasher.combine(after)
            hasher.combine(reason)
        case .failed(let text), .split(let text), .rejected(let text): hasher.combine(text)
        case .stop(let error): hasher.combine(error.code)
        }
    }
}

/// A campaign in the answer to an event.
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
