import Experimentation

/// The structure of an object: the part of JSON Schema that a Swift structure can express.
///
/// Reads `type`, `properties`, `required` and `items`. Other keywords restrict values, not types, and are ignored.
public indirect enum ObjectShape: Sendable, Equatable {
    case boolean, string, integer, number
    /// Anything.
    case any
    /// A list of values of one shape.
    case list(ObjectShape)
    /// Properties by name, sorted.
    case object([Property])

    /// A property of an object.
    public struct Property: Sendable, Equatable {
        /// Its name in the document.
        public var name: String
        /// Its shape.
        public var shape: ObjectShape
        /// Whether every object has it.
        public var isRequired: Bool
    }

    /// Reads a schema.
    ///
    /// - Parameters:
    ///   - schema: The JSON Schema.
    ///   - place: Where the schema is, for messages.
    /// - Throws: `ErrorCode.configuration` if it isn't a schema.
    init(_ schema: FlagValue, at place: String) throws(ExperimentationError) {
        guard let members = schema.objectValue else {
            throw ExperimentationError(.configuration, "\(place): expected an object with \"type\"")
        }
        switch members["type"] {
        case "boolean": self = .boolean
        case "string": self = .string
        case "integer": self = .integer
        case "number": self = .number
        case "array":
            self = .list(
                try members["items"].map { items throws(ExperimentationError) in
                    try ObjectShape(items, at: "\(place).items")
                } ?? .any
            )
        case "object": self = try Self.object(members, at: place)
        case nil: self = .any
        case .some:
            throw ExperimentationError(
                .configuration,
                "\(place).type: expected one of boolean, string, integer, number, array, object"
            )
        }
    }

    private static func object(
        _ members: [String: FlagValue],
        at place: String
    ) throws(ExperimentationError) -> ObjectShape {
        guard let properties = members["properties"] else { return .any }
        guard let shapes = properties.objectValue else {
            throw ExperimentationError(.configuration, "\(place).properties: expected an object of schemas")
        }
        let required = Set((members["required"]?.arrayValue ?? []).compactMap(\.stringValue))
        var found: [Property] = []
        for (name, schema) in shapes.sorted(by: { $0.key < $1.key }) {
            let shape = try ObjectShape(schema, at: "\(place).properties.\(name)")
            found.append(Property(name: name, shape: shape, isRequired: required.contains(name)))
        }
        return .object(found)
    }

    /// The shape as a JSON Schema.
    var document: FlagValue {
        switch self {
        case .boolean: return ["type": "boolean"]
        case .string: return ["type": "string"]
        case .integer: return ["type": "integer"]
        case .number: return ["type": "number"]
        case .any: return [:]
        case .list(let element): return ["type": "array", "items": element.document]
        case .object(let properties):
            let shapes = properties.map { ($0.name, $0.shape.document) }
            let required = properties.filter(\.isRequired).map { FlagValue.string($0.name) }
            var members: [String: FlagValue] = [
                "type": "object", "properties": .object(Dictionary(shapes, uniquingKeysWith: { $1 })),
            ]
            if !required.isEmpty { members["required"] = .array(required) }
            return .object(members)
        }
    }

    /// Compares a value with this shape.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - place: Where the value is, for messages.
    ///   - isOpen: Whether objects may have more members than the shape, as they may for the structure that decodes them.
    /// - Returns: Where the value differs; `nil` if it matches.
    func mismatch(of value: FlagValue, at place: String, isOpen: Bool = false) -> String? {
        switch (self, value) {
        case (.any, _): return nil
        case (.boolean, _): return value.boolValue == nil ? "\(place): expected true or false" : nil
        case (.string, _): return value.stringValue == nil ? "\(place): expected a text" : nil
        case (.integer, _): return value.intValue == nil ? "\(place): expected a whole number" : nil
        case (.number, _): return value.doubleValue == nil ? "\(place): expected a number" : nil
        case (.list(let shape), .array(let values)):
            for (index, value) in values.enumerated() {
                if let fault = shape.mismatch(of: value, at: "\(place)[\(index)]", isOpen: isOpen) { return fault }
            }
            return nil
        case (.list, _): return "\(place): expected a list"
        case (.object(let properties), .object(let members)):
            for property in properties {
                let place = "\(place).\(property.name)"
                guard let value = members[property.name], value != .null || property.shape == .any else {
                    if property.isRequired { return "\(place): missing" }
                    continue
                }
                if let fault = property.shape.mismatch(of: value, at: place, isOpen: isOpen) { return fault }
            }
            if isOpen { return nil }
            let names = Set(properties.map(\.name))
            return members.keys.filter { !names.contains($0) }.min().map { "\(place).\($0): isn't in the schema" }
        case (.object, _): return "\(place): expected an object"
        }
    }
}
