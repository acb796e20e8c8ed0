/// Events that have to make room for others, and how they are chosen.
///
/// An event is evicted at once, and its rows are deleted later with those of others: one by one, they would cost as much
/// again as the new events. Until then nothing is done with it, and it doesn't count as waiting.
struct Evictions: Sendable {
    /// The evicted events whose rows still exist.
    private(set) var sequences: [Int64] = []
    /// The size of their bodies in bytes.
    private(set) var bytes = 0
    /// The number of their deliveries.
    private(set) var deliveries = 0
    /// Whether a holder whose lease has expired may still be sending one of them, so the holder must learn of it now.
    private(set) var areUrgent = false
    /// Whether another process may have leased, delivered or deleted some of them.
    private(set) var areStale = false
    /// For each priority, where the search for the next one goes on.
    private var search = [Search](repeating: Search(), count: 3)
    /// The leases that keep events before that point from being evicted.
    private var leases: [Int64: Lease] = [:]

    /// A lease whose events are spared.
    struct Lease: Sendable, Equatable {
        var epoch: Int64
        var out: Int64
    }

    private struct Search {
        /// No event of the priority comes before this one.
        var first: Int64 = 0
        /// Events of the priority that come before this one are leased.
        var next: Int64 = 0
    }

    /// The last of the evicted events.
    var last: Int64? { sequences.max() }

    /// Where to look for the next event of a priority.
    func start(of priority: Int) -> Int64 { search[priority].next }

    /// Notes that an event is leased; the search goes on behind it while it is.
    mutating func spare(_ sequence: Int64, of priority: Int, leasedBy lane: Int64, _ lease: Lease) {
        leases[lane] = lease
        if search[priority].first == search[priority].next { search[priority].first = sequence }
        search[priority].next = sequence + 1
    }

    /// Evicts an event.
    mutating func add(_ sequence: Int64, of priority: Int, bytes size: Int, owedTo number: Int, isUrgent: Bool) {
        sequences.append(sequence)
        bytes += size
        deliveries += number
        areUrgent = areUrgent || isUrgent
        pass(sequence + 1, of: priority)
    }

    /// Notes that no event of a priority follows up to a sequence.
    mutating func pass(_ next: Int64, of priority: Int) {
        if search[priority].first == search[priority].next { search[priority].first = next }
        search[priority].next = next
    }

    /// Searches anew if one of the leases has changed.
    mutating func check(_ isUnchanged: (Int64, Lease) -> Bool) {
        if leases.isEmpty || leases.allSatisfy({ isUnchanged($0, $1) }) { return }
        leases = [:]
        for priority in search.indices { search[priority].next = search[priority].first }
    }

    /// Searches anew if a lane's lease spares an event: something is about to happen to it.
    mutating func change(of lane: Int64) { if leases[lane] != nil { change() } }

    /// Searches anew for events that were leased: something is about to happen to any of them.
    mutating func change() { check { _, _ in false } }

    /// Searches anew from the beginning: another process may have changed anything.
    mutating func searchAnew() {
        search = [Search](repeating: Search(), count: search.count)
        leases = [:]
        areStale = !sequences.isEmpty
    }

    /// Takes the evicted events, whose rows are about to be deleted.
    mutating func take() -> [Int64] {
        defer { (sequences, bytes, deliveries, areUrgent, areStale) = ([], 0, 0, false, false) }
        return sequences
    }
}
