/// Parses decimal fractions with integer arithmetic: a time of day has too many digits for one division of doubles, and
/// the C library takes ten times as long.
enum DecimalFraction {
    /// The powers of ten that fit into 64 bits.
    private static let powers: [UInt64] = (0...19).map { power in (0..<power).reduce(1) { value, _ in value * 10 } }

    /// Parses a number with a point and without an exponent, rounded as IEEE 754 requires.
    ///
    /// - Parameter token: Its characters: an optional minus, digits, a point, digits.
    /// - Returns: The number; `nil` for more than nineteen digits, any other form, or less than a thousandth.
    static func read(_ token: some Collection<UInt8>) -> Double? {
        let isNegative = token.first == 0x2D
        var digits: UInt64 = 0
        var count = 0
        var fraction: Int?
        for byte in token.dropFirst(isNegative ? 1 : 0) {
            switch byte {
            case 0x30...0x39 where count < 19:
                digits = digits * 10 + UInt64(byte - 0x30)
                count += 1
                fraction? += 1
            case 0x2E where fraction == nil: fraction = 0
            default: return nil
            }
        }
        guard let fraction, let number = quotient(digits, powers[fraction]) else { return nil }
        return isNegative ? -number : number
    }

    /// Divides integers and rounds once.
    private static func quotient(_ dividend: UInt64, _ divisor: UInt64) -> Double? {
        if dividend == 0 { return 0 }
        let (whole, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
        // 64 bits after the binary point; the remainder counts only as non-zero.
        let (part, left) = divisor.dividingFullWidth((rest, 0))
        let shift = whole == 0 ? 64 + part.leadingZeroBitCount : whole.leadingZeroBitCount
        // Fewer bits than these aren't enough to round correctly.
        guard shift < 74 else { return nil }
        var bits = shift < 64 ? whole << shift | part >> (64 - shift) : part << (shift - 64)
        if left != 0 || (shift < 64 && part << shift != 0) { bits |= 1 }
        // A power of two: this doesn't round a second time.
        return Double(bits) * Double(bitPattern: UInt64(1_023 - shift) << 52)
    }
}
