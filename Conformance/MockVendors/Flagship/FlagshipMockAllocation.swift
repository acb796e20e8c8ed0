/// Allocates visitors with the vendor's hash.
enum FlagshipMockAllocation {
    /// MurmurHash3, the 32-bit variant for x86, with seed 0.
    static func murmur3(_ text: String) -> UInt32 {
        let bytes = Array(text.utf8)
        var hash: UInt32 = 0
        func scramble(_ word: UInt32) -> UInt32 {
            let product = word &* 0xCC9E_2D51
            return (product << 15 | product >> 17) &* 0x1B87_3593
        }
        var position = 0
        while position + 4 <= bytes.count {
            let word = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[position + $1]) << UInt32($1 * 8) }
            hash ^= scramble(word)
            hash = (hash << 13 | hash >> 19) &* 5 &+ 0xE654_6B64
            position += 4
        }
        var rest: UInt32 = 0
        for (index, byte) in bytes[position...].enumerated() { rest |= UInt32(byte) << UInt32(index * 8) }
        if position < bytes.count { hash ^= scramble(rest) }
        hash ^= UInt32(truncatingIfNeeded: bytes.count)
        hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
        return hash ^ hash >> 16
    }

    /// The variation of a group that an id falls into; `nil` for the share that is not allocated.
    static func variation(of group: FlagshipMockFile.Group, for id: String) -> FlagshipMockFile.Variation? {
        let place = Int(murmur3(group.id + id) % 100)
        var sum = 0
        for variation in group.variations {
            // A user-supplied file may contain any number.
            let (next, isOverflow) = sum.addingReportingOverflow(variation.allocation)
            sum = isOverflow ? (variation.allocation > 0 ? .max : .min) : next
            if place < sum { return variation }
        }
        return nil
    }

    /// Whether a visitor is within the share of traffic that a campaign is open to.
    static func isOpen(_ campaign: FlagshipMockFile.Campaign, to visitorID: String) -> Bool {
        let place = Double(murmur3(visitorID) % 100)
        return campaign.bucketRanges.contains { $0.from <= place && place < $0.to }
    }
}
