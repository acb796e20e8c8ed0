extension Person {
    /// Makes the record one of a move.
    ///
    /// Of another move, what users have seen in the old vendor's experiments stays. The side goes, and so do places in
    /// the former new vendor's own experiments. The old vendor is asked again, because it may have been alone since.
    ///
    /// - Parameter move: The name of the move.
    /// - Returns: Variations by the old vendor's group that the former new vendor assigned: what the old vendor has
    ///   shown since counts before them.
    mutating func begin(_ move: String) -> [String: String] {
        defer { self.move = move }
        if self.move == nil || self.move == move { return [:] }
        let handedOver = places.filter { $0.value.by == .new && $0.key.hasPrefix("old/") }
        places = places.filter { $0.value.by == .old }
        (side, isKnown, outside, hasChanged) = (nil, false, [], false)
        return Dictionary(uniqueKeysWithValues: handedOver.map { (String($0.dropFirst(4)), $1.variation) })
    }
}
