import Synchronization

/// What one answer of a vendor brought, for the client to act on.
struct DeliveryEvent: Sendable {
    /// Campaigns, each with the event that it answers.
    var campaigns: [(envelope: Envelope, campaign: Campaign)] = []
    /// The events of which nothing more will come: the vendor has taken them, or refused them for good.
    var settled: [Envelope] = []
    /// Whether the vendor has switched itself off.
    var isDisabled = false
    /// Why the vendor refuses everything until the settings are corrected.
    var refusal: ExperimentationError?
    /// Whether the vendor takes events again after it had refused everything.
    var hasResumed = false

    /// Reads an answer.
    init(_ report: DeliveryReport, _ verdicts: [Verdict?], to batch: [Envelope]) {
        isDisabled = report.isDisabled
        campaigns = report.campaigns.compactMap { received in
            batch.first { $0.id == received.eventID }.map { ($0, received.campaign) }
        }
        settled = batch
        if !verdicts.allSatisfy(\.isFinal) { settled = zip(batch, verdicts).filter { $1.isFinal }.map(\.0) }
        for case .stop(let error)? in verdicts { refusal = error }
    }

    /// Creates an event about nothing.
    init(isDisabled: Bool = false) { self.isDisabled = isDisabled }

    /// Whether there is nothing to act on.
    var isEmpty: Bool {
        campaigns.isEmpty && settled.isEmpty && !isDisabled && refusal == nil && !hasResumed
    }

    /// The campaigns by the event that they answer, in order.
    var answers: [(envelope: Envelope, campaigns: [Campaign])] {
        var order: [String] = []
        var groups: [String: (Envelope, [Campaign])] = [:]
        for (envelope, campaign) in campaigns {
            if groups[envelope.id] == nil { order.append(envelope.id) }
            groups[envelope.id, default: (envelope, [])].1.append(campaign)
        }
        return order.compactMap { groups[$0] }
    }
}

/// Passes on what deliveries bring to a listener who comes into being after them.
final class DeliveryEvents: Sendable {
    /// A closure that lies in a mutex by itself is wrapped once more by every look at it, until calling it overflows the
    /// stack; one that lies in a structure isn't.
    private struct Listener: Sendable {
        var receive: @Sendable (DeliveryEvent) async -> Void
    }

    private let listener = Mutex<Listener?>(nil)

    /// Sets who listens from now on.
    func listen(_ receive: @escaping @Sendable (DeliveryEvent) async -> Void) {
        listener.withLock { $0 = Listener(receive: receive) }
    }

    /// Passes an event on, and waits until it was acted on; without a listener it is lost.
    func send(_ event: DeliveryEvent) async { await listener.withLock { $0 }?.receive(event) }
}

extension Verdict? {
    /// Whether the vendor said nothing about the event itself.
    var isNoAnswer: Bool {
        switch self {
        case nil, .outage: true
        default: false
        }
    }

    /// Whether nothing more will come of the event.
    fileprivate var isFinal: Bool {
        switch self {
        case .delivered, .rejected: true
        default: false
        }
    }
}
