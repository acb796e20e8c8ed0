/// A visitor's variation in a group, and whether it was exposed.
struct FlagshipMockPlace: Sendable, Hashable {
    var variation: String
    var isActivated: Bool
}

/// The vendor's memory: each visitor's variation by group.
struct FlagshipMockMemory: Sendable {
    typealias Places = [String: FlagshipMockPlace]

    /// The number of visitors after which the previous generation is forgotten.
    ///
    /// Between one and two times as many are remembered.
    var limit = Int.max
    private var young: [String: Places] = [:]
    private var old: [String: Places] = [:]

    /// What is remembered of all visitors.
    var all: [String: Places] { old.merging(young) { $1 } }

    /// A visitor's places; empty if there are none.
    subscript(visitor: String) -> Places {
        get { young[visitor] ?? old[visitor] ?? [:] }
        set {
            young[visitor] = newValue
            if young.count >= limit { (old, young) = (young, [:]) }
        }
    }

    /// Forgets all visitors.
    mutating func removeAll() { (old, young) = ([:], [:]) }
}
