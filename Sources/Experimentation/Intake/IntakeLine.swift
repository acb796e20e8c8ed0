/// Statements that wait to be stored: first in, first out.
///
/// Taking some costs the same however many wait, because callers that state something meanwhile wait for the lock.
struct IntakeLine<Entry> {
    private var arriving: [Entry] = []
    /// The front of the line: what arrived earlier, taken over as a whole.
    private var front: ArraySlice<Entry> = []

    var count: Int { front.count + arriving.count }
    var isEmpty: Bool { count == 0 }

    /// The entry that comes next.
    var first: Entry? { front.first ?? arriving.first }

    mutating func append(_ entry: Entry) { arriving.append(entry) }

    /// Takes the first entries out of the line: at least one, unless it is empty.
    mutating func take(atMost most: Int) -> [Entry] {
        if front.isEmpty {
            let arrived = arriving
            arriving = []
            if arrived.count <= most { return arrived }
            front = arrived[...]
        }
        let taken = Array(front.prefix(most))
        front = front.dropFirst(taken.count)
        // An empty slice would keep everything that was taken from it alive.
        if front.isEmpty { front = [] }
        return taken
    }

    /// Takes the first entries out of the line for as long as they meet a condition.
    mutating func take(atMost most: Int, while meets: (Entry) -> Bool) -> [Entry] {
        var count = 0
        for entry in (front.isEmpty ? arriving[...] : front).prefix(most) {
            if !meets(entry) { break }
            count += 1
        }
        return count == 0 ? [] : take(atMost: count)
    }

    /// Takes everything out of the line.
    mutating func takeAll() -> [Entry] {
        defer { (front, arriving) = ([], []) }
        return front + arriving
    }

    /// Puts entries back in front of all others.
    mutating func putBack(_ entries: some Collection<Entry>) { front = entries + front }
}

extension IntakeLine: Sendable where Entry: Sendable {}
