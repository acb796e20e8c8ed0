/// A cache that evicts the least recently used values once their total weight exceeds a limit.
///
/// Looking up and evicting take constant time: the keys form a list in the order of their use.
package struct RecentlyUsed<Value> {
    private struct Node {
        var key: ExactText
        var value: Value
        var weight: Int
        /// The node used just after this one, and the one just before; -1 for none.
        var newer = -1
        var older = -1
    }

    private let limit: Int
    private var places: [ExactText: Int] = [:]
    private var nodes: [Node] = []
    private var newest = -1
    private var oldest = -1

    /// The total weight.
    private(set) var weight = 0

    /// Creates an empty cache with a limit on the total weight; one value is always kept.
    package init(limit: Int) { self.limit = limit }

    var count: Int { nodes.count }

    /// Returns the value for a key and makes it the most recently used.
    package mutating func use(_ key: ExactText) -> Value? {
        guard let place = places[key] else { return nil }
        unlink(place)
        link(place)
        return nodes[place].value
    }

    /// Changes an existing value; this doesn't count as a use.
    mutating func change(_ key: ExactText, _ change: (inout Value) -> Void) {
        if let place = places[key] { change(&nodes[place].value) }
    }

    /// Keeps a value as the most recently used, and evicts others while the limit is exceeded.
    package mutating func keep(_ value: Value, for key: ExactText, weighing weight: Int) {
        if let place = places[key] { remove(at: place) }
        nodes.append(Node(key: key, value: value, weight: weight))
        places[key] = nodes.count - 1
        self.weight += weight
        link(nodes.count - 1)
        while self.weight > limit, nodes.count > 1 { remove(at: oldest) }
    }

    package mutating func remove(_ key: ExactText) {
        if let place = places[key] { remove(at: place) }
    }

    mutating func removeAll() { self = RecentlyUsed(limit: limit) }

    private mutating func remove(at place: Int) {
        unlink(place)
        weight -= nodes[place].weight
        places[nodes[place].key] = nil
        let last = nodes.removeLast()
        guard place < nodes.count else { return }
        // The last node fills the gap.
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
