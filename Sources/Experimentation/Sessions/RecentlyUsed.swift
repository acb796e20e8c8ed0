/// Values by key, of which only so many are kept: the ones that were used last.
///
/// Both looking up and letting go take constant time: the keys stand in a list in the order of their use.
struct RecentlyUsed<Value> {
    private struct Node {
        var key: ExactText
        var value: Value
        /// The place of the one used just after this, and just before it; -1 for none.
        var newer = -1
        var older = -1
    }

    private let limit: Int
    private var places: [ExactText: Int] = [:]
    private var nodes: [Node] = []
    private var newest = -1
    private var oldest = -1

    /// Creates an empty collection for at most so many values, and at least one.
    init(limit: Int) { self.limit = max(limit, 1) }

    var count: Int { nodes.count }

    /// The value for a key, which is the one used last from now on.
    mutating func use(_ key: ExactText) -> Value? {
        guard let place = places[key] else { return nil }
        unlink(place)
        link(place)
        return nodes[place].value
    }

    /// Keeps a value, as the one used last, and lets go of the one unused for longest if there are too many.
    mutating func keep(_ value: Value, for key: ExactText) {
        if let place = places[key] {
            nodes[place].value = value
            unlink(place)
            return link(place)
        }
        if nodes.count == limit { remove(at: oldest) }
        nodes.append(Node(key: key, value: value))
        places[key] = nodes.count - 1
        link(nodes.count - 1)
    }

    mutating func remove(_ key: ExactText) {
        if let place = places[key] { remove(at: place) }
    }

    mutating func removeAll() { self = RecentlyUsed(limit: limit) }

    private mutating func remove(at place: Int) {
        unlink(place)
        places[nodes[place].key] = nil
        let last = nodes.removeLast()
        guard place < nodes.count else { return }
        // The last takes the free place, so that there are no holes.
        nodes[place] = last
        places[last.key] = place
        if last.newer >= 0 { nodes[last.newer].older = place } else { newest = place }
        if last.older >= 0 { nodes[last.older].newer = place } else { oldest = place }
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (nodes[place].newer, nodes[place].older)
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
    }

    private mutating func link(_ place: Int) {
        nodes[place].newer = -1
        nodes[place].older = newest
        if newest >= 0 { nodes[newest].newer = place } else { oldest = place }
        newest = place
    }
}
