/// The value of a flag, an attribute or an event's field: one of JSON's kinds, with integers kept apart.
///
/// It can be written as a literal: `["vip": true, "age": 41, "plan": "pro"]`.
public enum FlagValue: Sendable {
    /// No value.
    case null
    /// A Boolean; never read as a number.
    case bool(Bool)
    /// An integer.
    case int(Int)
    /// A number with a fraction, or too large for ``int(_:)``.
    case double(Double)
    /// A string.
    case string(String)
    /// A list.
    case array([FlagValue])
    /// An object: values by name.
    case object([String: FlagValue])
}

extension FlagValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a list.
    public init(arrayLiteral elements: FlagValue...) { self = .array(elements) }
    /// Creates an object; of two equal names the later wins.
    public init(dictionaryLiteral elements: (String, FlagValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
    /// Creates ``null``.
    public init(nilLiteral: ()) { self = .null }
}

extension FlagValue {
    /// The Boolean, if this is one.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The integer, even from a floating-point number without a fraction; never from a Boolean.
    public var intValue: Int? {
        switch self {
        case .int(let value): value
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number, unless an integer would lose digits as a `Double`; never from a Boolean.
    public var doubleValue: Double? {
        switch self {
        case .double(let value): value
        case .int(let value): Double(exactly: value)
        default: nil
        }
    }

    /// The string, if this is one.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The list, if this is one.
    public var arrayValue: [FlagValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The values by name, if this is an object.
    public var objectValue: [String: FlagValue]? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Returns how many lists and objects surround the deepest value, at most `limit + 1`.
    ///
    /// Values from a caller are measured before they are encoded, because encoders recurse.
    ///
    /// - Parameter limit: Where to stop counting.
    /// - Returns: The count; 0 for a scalar.
    public func depth(upTo limit: Int) -> Int {
        if !isContainer { return 0 }
        // Breadth first, one level per iteration: a value nested ten thousand times must not use up the stack.
        var level = [self]
        var depth = 0
        while true {
            var next: [FlagValue] = []
            for value in level {
                switch value {
                case .array(let values): next.append(contentsOf: values)
                case .object(let values): next.append(contentsOf: values.values)
                default: continue
                }
            }
            let hasContainer = level.contains { $0.isContainer }
            if !hasContainer { return depth }
            depth += 1
            if depth > limit { return depth }
            level = next
        }
    }

    /// Whether every number in this value is finite.
    public var isFinite: Bool {
        // Most values are scalars, which need no list of what is left.
        guard isContainer else { return scalarIsFinite }
        var rest = [self]
        while let value = rest.popLast() {
            switch value {
            case .array(let values): rest.append(contentsOf: values)
            case .object(let values): rest.append(contentsOf: values.values)
            default: if !value.scalarIsFinite { return false }
            }
        }
        return true
    }

    private var scalarIsFinite: Bool { if case .double(let number) = self { number.isFinite } else { true } }

    var isContainer: Bool {
        switch self {
        case .array, .object: true
        default: false
        }
    }
}

extension FlagValue: Codable {
    /// Decodes any JSON value; integers that fit become ``int(_:)``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([FlagValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: FlagValue].self))
        }
    }

    /// Encodes the value as JSON.
    ///
    /// - Throws: What the encoder throws, and an `EncodingError` for a value nested too deep for an encoder's stack.
    public func encode(to encoder: any Encoder) throws {
        if isContainer, encoder.codingPath.count > Self.deepestWritten {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(codingPath: [], debugDescription: "The value is nested too deep.")
            )
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
