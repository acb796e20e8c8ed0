import Experimentation

/// The events that were accepted while the vendor was away, and what became of each; pure.
///
/// Follows each event, because totals say nothing about these: earlier and later ones are delivered, purged and dropped
/// as well.
struct KeptEvents {
    /// An event that is owed to a destination.
    struct Owed: Hashable {
        var id: String
        var destination: Destination
    }

    /// What became of an event.
    enum Fate { case waiting, delivered, purged, dropped }

    private var fates: [Owed: Fate] = [:]

    /// Whether any of them still waits, as far as is known.
    var isAnyWaiting: Bool { fates.values.contains(.waiting) }

    /// Returns the number of events.
    func count(_ fate: Fate? = nil) -> Int { fate.map { fate in fates.values.count { $0 == fate } } ?? fates.count }

    /// Adds events that were accepted.
    mutating func accept(_ events: [NewEvent], _ refusals: [ExperimentationError?]) {
        for (event, refusal) in zip(events, refusals) where refusal == nil {
            for delivery in event.deliveries {
                fates[Owed(id: event.envelope.id, destination: delivery.destination)] = .waiting
            }
        }
    }

    /// Notes what was settled.
    ///
    /// - Parameters:
    ///   - settlements: The outcomes.
    ///   - destination: The destination.
    ///   - isCurrent: Whether the lease was current; otherwise only what was delivered counts, unless it was purged
    ///     before.
    mutating func settle(_ settlements: [Settlement], at destination: Destination, isCurrent: Bool) {
        for settlement in settlements {
            let owed = Owed(id: settlement.id, destination: destination)
            guard let known = fates[owed] else { continue }
            switch settlement.outcome {
            case .delivered: if isCurrent || known != .purged { fates[owed] = .delivered }
            case .dropped: if isCurrent { fates[owed] = .dropped }
            case .retry: break
            }
        }
    }

    /// Notes that the store has removed whatever no longer waits.
    mutating func remove(allBut waiting: Set<Owed>, as fate: Fate) {
        for (owed, known) in fates where known == .waiting && !waiting.contains(owed) { fates[owed] = fate }
    }
}
