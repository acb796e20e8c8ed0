/// A table of recent entries, bounded in weight.
///
/// It has two halves. When the younger one is full, it takes the place of the older one, which is given up; so an entry stays for at
/// least half of the table's weight in newer ones, at the cost of a dictionary's access.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private var weight = 0
    private let limit: Int

    /// Creates an empty table.
    ///
    /// - Parameter limit: How much it may weigh: the number of its entries, unless they are given weights.
    init(limit: Int) { self.limit = limit }

    /// The number of entries.
    var count: Int { young.count + old.count }

    /// The value of a key.
    subscript(key: Key) -> Value? { young[key] ?? old[key] }

    /// Whether a key is among those that go next.
    func isOld(_ key: Key) -> Bool { young[key] == nil && old[key] != nil }

    /// Sets the value of a key, which is young again.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    ///   - size: What the entry weighs; one of more than half of the table's isn't kept.
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
