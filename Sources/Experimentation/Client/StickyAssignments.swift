/// The variations that a session's user keeps, by group, and what of them the store has.
struct StickyAssignments: Sendable {
    private(set) var variations: [String: String] = [:]
    /// The groups whose variations the application has named.
    private var honored: Set<String> = []
    /// What is in the store, or on its way there; nothing after a failed write.
    private var stored: [String: String] = [:]

    /// Adds what the application names, except in groups that have a variation.
    mutating func honor(_ assignments: EarlierAssignments) {
        for (group, variation) in assignments.variations where variations[group] == nil {
            variations[group] = variation
            honored.insert(group)
        }
    }

    /// Adds what the store has, which outweighs what was decided without it.
    mutating func restore(_ stored: [String: String]) {
        for (group, variation) in stored where !honored.contains(group) { variations[group] = variation }
        self.stored = stored
    }

    /// Adds what was decided, except in groups that have a variation.
    mutating func decide(_ assignments: EarlierAssignments) {
        variations.merge(assignments.variations) { present, _ in present }
    }

    /// Returns the variations, to be stored from now on; `nil` if they are.
    mutating func takeUnstored() -> [String: String]? {
        if variations == stored { return nil }
        stored = variations
        return variations
    }

    /// Notes that the store has nothing.
    mutating func forgetStored() { stored = [:] }
}
