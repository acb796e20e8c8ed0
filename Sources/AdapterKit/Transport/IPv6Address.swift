/// An IPv6 address as its eight groups, so that every abbreviation of one is the same.
struct IPv6Address {
    /// What an address stands for.
    enum Meaning: Equatable {
        case host
        case unspecified
        case linkLocal
        case multicast
        /// An IPv4 address in another notation.
        case ipv4
        /// An IPv4 address behind a network that has no IPv4 and translates (RFC 6052).
        case translated(UInt32)
    }

    private let groups: [UInt16]

    /// Parses an address without its brackets; `nil` if it isn't one.
    init?(_ text: Substring) {
        let gap = text.firstRange(of: "::")
        guard let head = Self.groups(of: text[..<(gap?.lowerBound ?? text.endIndex)]),
            let tail = Self.groups(of: text[(gap?.upperBound ?? text.endIndex)...])
        else { return nil }
        let missing = 8 - head.count - tail.count
        guard gap == nil ? missing == 0 : missing > 0 else { return nil }
        groups = head + Array(repeating: 0, count: missing) + tail
    }

    private static func groups(of text: Substring) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // A number may have a sign, a group may not.
        let groups = parts.compactMap { part in
            (1...4).contains(part.count) && part.allSatisfy(\.isHexDigit) ? UInt16(part, radix: 16) : nil
        }
        return groups.count == parts.count ? groups : nil
    }

    var meaning: Meaning {
        if groups.allSatisfy({ $0 == 0 }) { return .unspecified }
        if groups[0] & 0xffc0 == 0xfe80 { return .linkLocal }
        if groups[0] & 0xff00 == 0xff00 { return .multicast }
        switch groups[..<6] {
        case [0, 0, 0, 0, 0, 0] where groups[6...] == [0, 1]: return .host
        case [0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0xffff]: return .ipv4
        case [0x64, 0xff9b, 0, 0, 0, 0]: return .translated(UInt32(groups[6]) << 16 | UInt32(groups[7]))
        default: return .host
        }
    }
}
