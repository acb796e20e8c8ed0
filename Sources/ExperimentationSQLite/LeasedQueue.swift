/// What is remembered of an event between its lease and its settlement.
struct Leased: Sendable, Equatable {
    var sequence: Int64
    /// How many bytes its body has.
    var bytes: Int
}

/// The events that this process has leased and not settled, in the order of their leases.
///
/// They are mostly settled in that order too, and then nothing is looked up: the next settlement is of the first event.
struct LeasedQueue: Sendable {
    private struct Entry: Sendable {
        var id: String
        var event: Leased
    }

    private var entries: [Entry] = []
    /// Where the entries begin that nobody has taken.
    private var first = 0
    /// Those that somebody passed over.
    private var passed: [String: Leased] = [:]

    /// Adds an event that was leased.
    mutating func append(_ id: String, _ event: Leased) { entries.append(Entry(id: id, event: event)) }

    /// Takes an event out.
    ///
    /// - Parameter id: The event's id.
    /// - Returns: What is remembered of it; `nil` if it wasn't leased here.
    mutating func take(_ id: String) -> Leased? {
        if first < entries.count, entries[first].id == id {
            let event = entries[first].event
            first += 1
            // What was taken is let go now and then: each time would move all that is left.
            if first == entries.count || first >= 1_024 {
                entries.removeFirst(first)
                first = 0
            }
            return event
        }
        if let event = passed.removeValue(forKey: id) { return event }
        for entry in entries[first...] { passed[entry.id] = entry.event }
        entries = []
        first = 0
        return passed.removeValue(forKey: id)
    }

    /// Forgets events that are gone, by their numbers.
    mutating func forget(_ sequences: [Int64]) {
        if sequences.isEmpty { return }
        let gone = Set(sequences)
        entries = entries[first...].filter { !gone.contains($0.event.sequence) }
        first = 0
        passed = passed.filter { !gone.contains($0.value.sequence) }
    }

    /// Puts an event back that was taken but couldn't be settled.
    mutating func putBack(_ id: String, _ event: Leased) { passed[id] = event }
}
