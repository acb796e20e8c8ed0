import Foundation

/// A type whose values can be attributes directly: strings, numbers, dates, and lists and optionals of those.
///
/// ```swift
/// var attributes = Attributes(of: ["plan": user.plan, "age": user.age, "since": user.since])
/// attributes.set(basket.count, for: "basket")
/// ```
public protocol AttributeConvertible {
    /// The value as an attribute; ``FlagValue/null`` if there is none.
    var attributeValue: FlagValue { get }
}

extension FlagValue: AttributeConvertible {
    /// The value itself.
    public var attributeValue: FlagValue { self }
}
extension Bool: AttributeConvertible {
    /// The Boolean value.
    public var attributeValue: FlagValue { .bool(self) }
}
extension Int: AttributeConvertible {
    /// The integer.
    public var attributeValue: FlagValue { .int(self) }
}
extension Double: AttributeConvertible {
    /// The number.
    public var attributeValue: FlagValue { .double(self) }
}
extension Float: AttributeConvertible {
    /// The number.
    public var attributeValue: FlagValue { .double(Double(self)) }
}
extension String: AttributeConvertible {
    /// The string.
    public var attributeValue: FlagValue { .string(self) }
}
extension Date: AttributeConvertible {
    /// The date in ISO 8601, in UTC with milliseconds: `2026-11-21T10:00:00.000Z`.
    public var attributeValue: FlagValue {
        .string(iso8601Milliseconds)
    }
}
extension URL: AttributeConvertible {
    /// The URL as a string.
    public var attributeValue: FlagValue { .string(absoluteString) }
}
extension UUID: AttributeConvertible {
    /// The UUID as a string.
    public var attributeValue: FlagValue { .string(uuidString) }
}
extension Optional: AttributeConvertible where Wrapped: AttributeConvertible {
    /// The value, or ``FlagValue/null``.
    public var attributeValue: FlagValue { self?.attributeValue ?? .null }
}
extension Array: AttributeConvertible where Element: AttributeConvertible {
    /// The list.
    public var attributeValue: FlagValue { .array(map(\.attributeValue)) }
}
extension Dictionary: AttributeConvertible where Key == String, Value: AttributeConvertible {
    /// The values by name.
    public var attributeValue: FlagValue { .object(mapValues(\.attributeValue)) }
}

extension Attributes {
    /// Creates attributes from an application's values, leaving out those that are `nil`.
    ///
    /// Of two equal names the later wins.
    public init(of values: KeyValuePairs<String, any AttributeConvertible>) {
        self.init()
        for (name, value) in values { set(value, for: name) }
    }

    /// Sets an attribute; `nil` removes it.
    public mutating func set(_ value: any AttributeConvertible, for name: String) {
        let value = value.attributeValue
        if value == .null { values.removeValue(forKey: name) } else { values[name] = value }
    }
}

extension FlagValue {
    /// Creates the value that corresponds to the JSON encoding of a custom type.
    ///
    /// - Throws: What the value's own encoding throws.
    public init(encoding value: some Encodable) throws {
        self = try JSONDecoder().decode(FlagValue.self, from: JSONEncoder().encode(value))
    }

    /// Decodes the value as a custom type.
    ///
    /// - Throws: What the type's own decoding throws.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: JSONEncoder().encode(self))
    }
}
