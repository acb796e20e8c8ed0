@_spi(StoredForm) import Experimentation

/// Encoded events to be accepted, and those that are refused whatever the store contains.
struct Arrivals: Sendable {
    /// An event that may be accepted, or one of which only the accompanying consent counts.
    struct Arrival: Sendable {
        var place: Int
        var event: NewEvent
        /// The encoded event; `nil` if only the consent counts.
        var body: [UInt8]?
        var mark: [UInt8]
        var shard: Int64
    }

    private(set) var all: [Arrival] = []
    private(set) var refusals: [ExperimentationError?]

    init(_ events: [NewEvent], limit: Int, _ person: (String) -> (mark: [UInt8], shard: Int64)) {
        refusals = Array(repeating: nil, count: events.count)
        for (place, event) in events.enumerated() {
            var body: [UInt8]?
            do throws(ExperimentationError) {
                guard !event.deliveries.isEmpty else {
                    throw ExperimentationError(.invalidArgument, "The event is owed to no destination.")
                }
                body = try event.stored(limit: limit)
            } catch {
                refusals[place] = error
                if !event.grantsConsent { continue }
            }
            let (mark, shard) = person(event.envelope.identity.id)
            all.append(Arrival(place: place, event: event, body: body, mark: mark, shard: shard))
        }
    }

    /// The distinct destinations, in order of first mention.
    var destinations: [Destination] {
        var seen: Set<Destination> = []
        return all.flatMap { $0.body == nil ? [] : $0.event.deliveries.map(\.destination) }
            .filter { seen.insert($0).inserted }
    }

    var shards: [Int64] { Set(all.map(\.shard)).sorted() }
    var marks: [[UInt8]] { Array(Set(all.map(\.mark))) }
}

extension Envelope {
    /// Whether this is a consent signal, which may be sent without consent.
    var isConsentSignal: Bool { if case .consentChanged = event.kind { true } else { false } }
}
