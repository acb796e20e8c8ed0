/// A version as numbers separated by dots; missing parts at the end are zero, so `1.0` equals `1.0.0`.
struct VersionNumber: Comparable, Sendable {
    private let parts: [Int]

    /// Parses integers separated by dots; anything else isn't a version.
    init?(_ text: String) {
        var parts: [Int] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard part.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(part) else { return nil }
            parts.append(number)
        }
        while parts.last == 0 { parts.removeLast() }
        self.parts = parts
    }

    static func < (one: Self, other: Self) -> Bool { one.parts.lexicographicallyPrecedes(other.parts) }
}

extension Double {
    /// Parses a decimal number with a point, without exponents, hexadecimals or names of infinities.
    init?(decimal text: String) {
        var digits = 0
        var points = 0
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case 48...57: digits += 1
            case UInt8(ascii: ".") where points == 0 && digits > 0: points = 1
            case UInt8(ascii: "-") where index == 0, UInt8(ascii: "+") where index == 0: continue
            default: return nil
            }
        }
        guard digits > 0, text.utf8.last != UInt8(ascii: ".") else { return nil }
        self.init(text)
    }

    /// Parses a decimal number, also one with an exponent as Swift describes small and large ones: `1e-05`, `2.5e+16`.
    init?(described text: String) {
        let parts = text.split(separator: "e", omittingEmptySubsequences: false)
        guard let mantissa = parts.first, Double(decimal: String(mantissa)) != nil else { return nil }
        if parts.count > 1 {
            let exponent = parts[1].utf8
            guard parts.count == 2, exponent.count > 2, "+-".utf8.contains(exponent.first ?? 0),
                exponent.dropFirst().allSatisfy({ (48...57).contains($0) })
            else { return nil }
        }
        guard let number = Double(text), number.isFinite else { return nil }
        self = number
    }
}
