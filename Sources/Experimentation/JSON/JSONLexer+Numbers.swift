/// The value of a number, and how it was written.
package enum JSONNumber: Equatable {
    /// Digits alone that fit into an `Int`.
    case whole(Int)
    /// Digits with a point and without an exponent.
    case decimal(Double)
    /// With an exponent, or digits alone that don't fit into an `Int`: too many of them, or `-0`.
    case other(Double)

    /// The nearest `Double`.
    package var double: Double {
        switch self {
        case .whole(let number): Double(number)
        case .decimal(let number), .other(let number): number
        }
    }
}

extension JSONLexer {
    /// Reads a number.
    ///
    /// - Throws: What is wrong with it: its form, or that it is too large for a `Double`.
    package mutating func number() throws(JSONFault) -> JSONNumber {
        let start = position
        let isNegative = current == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let first = position
        var magnitude: UInt64 = 0
        while let digit {
            // Overflows after nineteen digits, when it isn't used.
            magnitude = magnitude &* 10 &+ digit
            position += 1
        }
        let digits = position - first
        guard digits > 0 else { throw fault("expected a digit") }
        if digits > 1, bytes[first] == UInt8(ascii: "0") { throw fault("a number doesn't begin with 0") }
        let hasPoint = current == UInt8(ascii: ".")
        if hasPoint {
            position += 1
            try someDigits()
        }
        let hasExponent = current == UInt8(ascii: "e") || current == UInt8(ascii: "E")
        if hasExponent {
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try someDigits()
        }
        if !hasPoint, !hasExponent, digits <= 19, let whole = Self.whole(magnitude, isNegative: isNegative) {
            return .whole(whole)
        }
        let token = bytes[start..<position]
        if hasPoint, !hasExponent, let number = DecimalFraction.read(token) { return .decimal(number) }
        guard let number = Double(String(decoding: token, as: UTF8.self)), number.isFinite else {
            throw fault("a number that is too large")
        }
        return hasPoint && !hasExponent ? .decimal(number) : .other(number)
    }

    private static func whole(_ magnitude: UInt64, isNegative: Bool) -> Int? {
        guard isNegative else { return Int(exactly: magnitude) }
        // An Int has no negative zero.
        guard magnitude > 0, magnitude <= Int.min.magnitude else { return nil }
        return Int(truncatingIfNeeded: 0 &- magnitude)
    }

    private var digit: UInt64? {
        let value = current &- 0x30
        return value <= 9 ? UInt64(value) : nil
    }

    private mutating func someDigits() throws(JSONFault) {
        guard digit != nil else { throw fault("expected a digit") }
        while digit != nil { position += 1 }
    }
}
