import Foundation

/// A type whose values are attributes as they are: texts, numbers, dates, lists and optionals of those.
///
/// ```swift
/// var attributes = Attributes(of: ["plan": user.plan, "age": user.age, "since": user.since])
/// attributes.set(basket.count, for: "basket")
/// ```
public protocol AttributeConvertible {
    /// The value as an attribute; ``FlagValue/null`` where there is none.
    var attributeValue: FlagValue { get }
}

extension FlagValue: AttributeConvertible {
    /// The value itself.
    public var attributeValue: FlagValue { self }
}
extension Bool: AttributeConvertible {
    /// The Boolean.
    public var attributeValue: FlagValue { .bool(self) }
}
extension Int: AttributeConvertible {
    /// The whole number.
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
    /// The text.
    public var attributeValue: FlagValue { .string(self) }
}
extension Date: AttributeConvertible {
    /// The moment by ISO 8601, in UTC with milliseconds: `2026-11-21T10:00:00.000Z`.
    public var attributeValue: FlagValue {
        .string(iso8601Milliseconds)
    }
}
extension URL: AttributeConvertible {
    /// The address as a text.
    public var attributeValue: FlagValue { .string(absoluteString) }
}
extension UUID: AttributeConvertible {
    /// The id as a text.
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
    /// Creates attributes of values as an application has them; those that are `nil` are left out.
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
    /// Creates the value that a type of one's own has in JSON.
    ///
    /// - Throws: What the value's own encoding throws.
    public init(encoding value: some Encodable) throws {
        self = try JSONDecoder().decode(FlagValue.self, from: JSONEncoder().encode(value))
    }

    /// Reads the value as a type of one's own.
    ///
    /// - Throws: What the type's own decoding throws.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: JSONEncoder().encode(self))
    }
}
