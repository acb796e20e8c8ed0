/// The variations that a session's user keeps, by group, and which of them the store has.
struct StickyAssignments: Sendable {
    private(set) var variations: [String: String] = [:]
    /// The groups whose variations the application has named.
    private var honored: Set<String> = []
    /// What is in the store, or on its way there; nothing after a failed write.
    private var stored: [String: String] = [:]
    /// Whether a denial of consent, in any session, has removed what was stored.
    private var removal: UserRemovals.Watch?

    /// Adds what the application names, except in groups that have a variation.
    mutating func honor(_ assignments: EarlierAssignments) {
        for (group, variation) in assignments.variations where variations[group] == nil {
            variations[group] = variation
            honored.insert(group)
        }
    }

    /// Adds what the store has, which takes precedence over what was decided without it.
    ///
    /// - Parameters:
    ///   - stored: What the store has.
    ///   - removal: The watch for the user's removal, begun before `stored` was read.
    mutating func restore(_ stored: [String: String], _ removal: UserRemovals.Watch) {
        for (group, variation) in stored where !honored.contains(group) { variations[group] = variation }
        (self.stored, self.removal) = (stored, removal)
    }

    /// Adds what was decided, except in groups that have a variation.
    mutating func decide(_ assignments: EarlierAssignments) {
        variations.merge(assignments.variations) { present, _ in present }
    }

    /// Variations to be stored.
    struct Unstored: Sendable, Hashable {
        var variations: [String: String]
        /// The groups whose variations replace what is stored.
        var honored: Set<String> = []
        /// What the store has, as far as this session knows; `nil` for nothing.
        var stored: [String: String]?

        /// Returns the variations together with what the store has: a variation that was stored first stays.
        func merged(with found: [String: String]?) -> [String: String] {
            variations.merging((found ?? [:]).filter { !honored.contains($0.key) }) { _, found in found }
        }
    }

    /// Takes the variations to be stored, which count as stored from now on.
    ///
    /// - Parameter watch: Begins to watch the user.
    /// - Returns: The variations; `nil` if they are stored.
    mutating func takeUnstored(_ watch: () -> UserRemovals.Watch) -> Unstored? {
        if removal?.isRemoved ?? true { (stored, removal) = ([:], watch()) }
        if variations == stored { return nil }
        defer { stored = variations }
        return Unstored(variations: variations, honored: honored, stored: stored.isEmpty ? nil : stored)
    }

    /// Adds what another session or process had stored first.
    ///
    /// - Returns: Whether the variation of a group has changed.
    mutating func adopt(_ found: [String: String]) -> Bool {
        var hasChanged = false
        for (group, variation) in found where !honored.contains(group) && variations[group] != variation {
            hasChanged = hasChanged || variations[group] != nil
            (variations[group], stored[group]) = (variation, variation)
        }
        return hasChanged
    }

    /// Notes that the store has nothing.
    mutating func forgetStored() { stored = [:] }
}
