/// A table of recent entries, bounded in weight.
///
/// The table has two halves. When the younger half is full, it replaces the older half, whose entries are dropped. So
/// an entry stays until at least half of the table's weight in newer entries has been added, at the cost of a
/// dictionary access.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private var weight = 0
    private let limit: Int

    /// Creates an empty table.
    ///
    /// - Parameter limit: The maximum weight: the number of entries, unless they have weights.
    init(limit: Int) { self.limit = limit }

    /// The number of entries.
    var count: Int { young.count + old.count }

    /// The value of a key.
    subscript(key: Key) -> Value? { young[key] ?? old[key] }

    /// Whether a key is among those that are dropped next.
    func isOld(_ key: Key) -> Bool { young[key] == nil && old[key] != nil }

    /// Sets the value of a key, which is young again.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - size: The entry's weight; an entry of more than half of the table's weight isn't kept.
    mutating func set(_ value: Value, for key: Key, weighing size: Int = 1) {
        guard size <= limit / 2 else { return }
        if weight + size > limit / 2 { (young, old, weight) = ([:], young, 0) }
        if young.updateValue(value, forKey: key) == nil { weight += size }
    }

    /// Removes a key that was set without a weight.
    mutating func remove(_ key: Key) {
        if young.removeValue(forKey: key) != nil { weight -= 1 }
        old[key] = nil
    }
}
