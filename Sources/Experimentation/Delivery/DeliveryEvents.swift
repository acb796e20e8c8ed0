import Synchronization

/// The content of one answer of a vendor, for the client to act on.
struct DeliveryEvent: Sendable {
    /// Campaigns, each with the event that it answers.
    var campaigns: [(envelope: Envelope, campaign: Campaign)] = []
    /// The events that are settled for good: delivered or dropped.
    var settled: [Envelope] = []
    /// Whether the vendor's kill switch is on.
    var isDisabled = false
    /// Why the vendor refuses everything until its settings are corrected.
    var refusal: ExperimentationError?
    /// Whether the vendor takes events again after refusing everything.
    var hasResumed = false

    /// Creates an event from an answer.
    init(_ report: DeliveryReport, _ verdicts: [Verdict?], _ settlements: [Settlement], to batch: [Envelope]) {
        isDisabled = report.isDisabled
        campaigns = report.campaigns.compactMap { received in
            batch.first { $0.id == received.eventID }.map { ($0, received.campaign) }
        }
        let final = settlements.filter(\.isFinal)
        if final.count == batch.count {
            settled = batch
        } else if !final.isEmpty {
            let places = Set(final.map(\.sequence))
            settled = batch.filter { places.contains($0.sequence) }
        }
        for case .stop(let error)? in verdicts { refusal = error }
    }

    /// Creates an empty event.
    init(isDisabled: Bool = false) { self.isDisabled = isDisabled }

    /// Whether there is nothing to act on.
    var isEmpty: Bool {
        campaigns.isEmpty && settled.isEmpty && !isDisabled && refusal == nil && !hasResumed
    }

    /// Campaigns grouped by the event that they answer, in order.
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

/// Passes the outcome of deliveries to a listener that is created after them.
final class DeliveryEvents: Sendable {
    /// A closure stored directly in a mutex is wrapped once more by every access, until calling it overflows the stack;
    /// a closure in a structure isn't.
    private struct Listener: Sendable {
        var receive: @Sendable (DeliveryEvent) async -> Void
    }

    private let listener = Mutex<Listener?>(nil)

    /// Sets the listener.
    func listen(_ receive: @escaping @Sendable (DeliveryEvent) async -> Void) {
        listener.withLock { $0 = Listener(receive: receive) }
    }

    /// Passes an event on, and waits until it has been acted on; without a listener it is lost.
    func send(_ event: DeliveryEvent) async { await listener.withLock { $0 }?.receive(event) }
}

extension Verdict? {
    /// Whether the verdict says nothing about the event itself.
    var isNoAnswer: Bool {
        switch self {
        case nil, .outage: true
        default: false
        }
    }
}

extension Settlement {
    /// Whether nothing more happens to the event.
    fileprivate var isFinal: Bool { if case .retry = outcome { false } else { true } }
}
