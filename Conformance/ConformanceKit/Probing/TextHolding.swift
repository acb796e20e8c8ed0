import Experimentation

/// A value that contains texts: `==` treats a composed and a decomposed letter as equal, and vendors don't.
protocol TextHolding {
    /// The UTF-8 of its texts, in the same order for values that are equal.
    var texts: [[UInt8]] { get }
}

/// Whether two equal values hold the same texts byte by byte.
///
/// - Returns: `true` also for values without texts.
func haveSameBytes<Value>(_ one: Value, _ other: Value) -> Bool {
    guard let one = one as? any TextHolding, let other = other as? any TextHolding else { return true }
    return one.texts == other.texts
}

extension String: TextHolding {
    var texts: [[UInt8]] { [Array(utf8)] }
}

extension Optional: TextHolding where Wrapped: TextHolding {
    var texts: [[UInt8]] { map(\.texts) ?? [] }
}

extension Array: TextHolding where Element: TextHolding {
    var texts: [[UInt8]] { flatMap(\.texts) }
}

extension Set: TextHolding where Element: TextHolding {
    var texts: [[UInt8]] { flatMap(\.texts).sorted { $0.lexicographicallyPrecedes($1) } }
}

extension Dictionary: TextHolding where Key == String, Value: TextHolding {
    var texts: [[UInt8]] { sorted { $0.key < $1.key }.flatMap { $0.key.texts + $0.value.texts } }
}

extension FlagValue: TextHolding {
    var texts: [[UInt8]] {
        switch self {
        case .string(let text): text.texts
        case .array(let values): values.texts
        case .object(let members): members.texts
        case .null, .bool, .int, .double: []
        }
    }
}
