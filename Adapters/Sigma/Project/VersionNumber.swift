/// A version as numbers separated by dots; missing parts at the end are zero, so `1.0` equals `1.0.0`.
struct VersionNumber: Comparable, Sendable {
    private let parts: [Int]

    /// Parses integers separated by dots; anything else isn't a version.
    init?(_ text: String) {
        var parts: [Int] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard part.utf8.areDigits, let number = Int(part) else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        self.parts = parts
    }

    static func < (one: Self, other: Self) -> Bool { one.parts.lexicographicallyPrecedes(other.parts) }
}

extension Double {
    /// Parses a decimal number with a point, without exponents, hexadecimals or names of infinities.
    init?(decimal text: some StringProtocol) {
        let hasSign = text.utf8.first.map { "+-".utf8.contains($0) } ?? false
        let parts = text.utf8.dropFirst(hasSign ? 1 : 0).split(separator: 46, omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy(\.areDigits) else { return nil }
        self.init(text)
    }

    /// Parses a decimal number, also one with an exponent as Swift describes small and large ones: `1e-05`, `2.5e+16`.
    init?(described text: String) {
        let parts = text.split(separator: "e", maxSplits: 1, omittingEmptySubsequences: false)
        guard Double(decimal: parts[0]) != nil else { return nil }
        if parts.count > 1 {
            let exponent = parts[1].utf8
            guard exponent.count > 2, "+-".utf8.contains(exponent.first ?? 0), exponent.dropFirst().areDigits
            else { return nil }
        }
        guard let number = Double(text), number.isFinite else { return nil }
        self = number
    }
}

extension Collection<UInt8> {
    /// Whether these are only digits, and at least one.
    var areDigits: Bool { !isEmpty && allSatisfy { (48...57).contains($0) } }
}
