/// A user's attributes by name.
///
/// ```swift
/// let attributes: Attributes = ["vip": true, "age": 41, "plan": "pro"]
/// ```
public struct Attributes: Sendable, Hashable {
    /// The values by name.
    public var values: [String: FlagValue]

    /// Creates attributes.
    public init(_ values: [String: FlagValue] = [:]) { self.values = values }

    /// The value of one attribute; setting `nil` removes it.
    public subscript(name: String) -> FlagValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Whether there are no attributes.
    public var isEmpty: Bool { values.isEmpty }

    /// Returns these attributes with others laid over them; of two equal names the others' wins.
    public func merging(_ others: Attributes) -> Attributes {
        if others.isEmpty { return self }
        if isEmpty { return others }
        return Attributes(values.merging(others.values) { $1 })
    }
}

extension Attributes: ExpressibleByDictionaryLiteral {
    /// Creates attributes; of two equal names the later wins.
    public init(dictionaryLiteral elements: (String, FlagValue)...) {
        values = Dictionary(elements, uniquingKeysWith: { $1 })
    }
}

extension Attributes: Codable {
    /// Decodes a JSON object.
    public init(from decoder: any Decoder) throws {
        values = try decoder.singleValueContainer().decode([String: FlagValue].self)
    }

    /// Encodes a JSON object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
    }
}
