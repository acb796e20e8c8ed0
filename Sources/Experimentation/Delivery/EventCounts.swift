import Synchronization

/// The outcomes of the events of one type since a client was created.
public struct EventCounts: Sendable, Hashable, Codable {
    /// The number of events that the client accepted.
    public var accepted: Int
    /// The number of deliveries that the vendor took, including events accepted by an earlier run.
    public var delivered: Int
    /// The number of deliveries dropped because of the vendor's answer, by reason.
    public var dropped: [Ledger.DropReason: Int]

    /// Creates counts.
    public init(accepted: Int = 0, delivered: Int = 0, dropped: [Ledger.DropReason: Int] = [:]) {
        self.accepted = accepted
        self.delivered = delivered
        self.dropped = dropped
    }
}

/// Counts events by their type.
final class EventCounters: Sendable {
    private let state = Mutex<[String: EventCounts]>([:])

    /// The counts so far.
    var counts: [String: EventCounts] { state.withLock { $0 } }

    /// Counts events that were accepted.
    func accepted(_ events: [NewEvent]) {
        count(events.count, typed: { events[$0].envelope.event.type }) { $0.accepted += $1 }
    }

    /// Counts the final outcomes of a batch.
    func settled(_ settlements: [Settlement], of batch: [Envelope]) {
        // Nearly always everything was delivered, in order.
        if settlements.count == batch.count, settlements.allSatisfy({ $0.outcome == .delivered }) {
            return count(batch.count, typed: { batch[$0].event.type }) { $0.delivered += $1 }
        }
        let types = Dictionary(batch.map { ($0.id, $0.event.type) }) { first, _ in first }
        state.withLock { counts in
            for settlement in settlements {
                guard let type = types[settlement.id] else { continue }
                switch settlement.outcome {
                case .delivered: counts[type, default: EventCounts()].delivered += 1
                case .dropped(let reason, _): counts[type, default: EventCounts()].dropped[reason, default: 0] += 1
                case .retry: continue
                }
            }
        }
    }

    /// Counts runs of one type at a time: events of a type mostly come together, and a dictionary lookup costs more
    /// than counting.
    private func count(_ number: Int, typed type: (Int) -> String, _ add: (inout EventCounts, Int) -> Void) {
        state.withLock { counts in
            var start = 0
            while start < number {
                let first = type(start)
                let end = (start..<number).first { type($0) != first } ?? number
                add(&counts[first, default: EventCounts()], end - start)
                start = end
            }
        }
    }
}
