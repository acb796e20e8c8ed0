extension Person {
    /// Makes the record part of a move.
    ///
    /// If the record is of another move, what the user has seen in the old vendor's experiments stays. The side is
    /// removed, and so are places in the former new vendor's own experiments. The old vendor is asked again, because it
    /// may have been the only vendor since.
    ///
    /// - Parameter move: The name of the move.
    /// - Returns: The variations that the former new vendor assigned, by the old vendor's group; what the old vendor
    ///   has shown since takes precedence over them.
    mutating func begin(_ move: String) -> [String: String] {
        defer { self.move = move }
        if self.move == nil || self.move == move { return [:] }
        let handedOver = places.filter { $0.value.by == .new && $0.key.hasPrefix("old/") }
        places = places.filter { $0.value.by == .old }
        (side, isKnown, outside, hasChanged) = (nil, false, [], false)
        return Dictionary(uniqueKeysWithValues: handedOver.map { (String($0.dropFirst(4)), $1.variation) })
    }
}
