/// The variations that a session's user keeps, by group, and what of them the store has.
struct StickyAssignments: Sendable {
    private(set) var variations: [String: String] = [:]
    /// The groups whose variations the application has named.
    private var honored: Set<String> = []
    /// What is in the store, or on its way there; nothing after a failed write.
    private var stored: [String: String] = [:]
    /// Whether that was removed, by a denial of consent in whatever session.
    private var removal: UserRemovals.Watch?

    /// Adds what the application names, except in groups that have a variation.
    mutating func honor(_ assignments: EarlierAssignments) {
        for (group, variation) in assignments.variations where variations[group] == nil {
            variations[group] = variation
            honored.insert(group)
        }
    }

    /// Adds what the store has, which outweighs what was decided without it.
    ///
    /// - Parameters:
    ///   - stored: What the store has.
    ///   - removal: Of the user, since before it was read.
    mutating func restore(_ stored: [String: String], _ removal: UserRemovals.Watch) {
        for (group, variation) in stored where !honored.contains(group) { variations[group] = variation }
        (self.stored, self.removal) = (stored, removal)
    }

    /// Adds what was decided, except in groups that have a variation.
    mutating func decide(_ assignments: EarlierAssignments) {
        variations.merge(assignments.variations) { present, _ in present }
    }

    /// Takes the variations to be stored.
    ///
    /// - Parameter watch: Begins to watch the user.
    /// - Returns: The variations, which count as stored from now on; `nil` if they are.
    mutating func takeUnstored(_ watch: () -> UserRemovals.Watch) -> [String: String]? {
        if removal?.isRemoved ?? true { (stored, removal) = ([:], watch()) }
        if variations == stored { return nil }
        stored = variations
        return variations
    }

    /// Notes that the store has nothing.
    mutating func forgetStored() { stored = [:] }
}
