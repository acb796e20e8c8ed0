import Foundation

/// A JSON value, independent of the library.
enum JSONValue: Codable, Hashable, Sendable {
    case null, bool(Bool), number(Double), string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    init(_ text: String) throws { self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }

    subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }
    subscript(index: Int) -> JSONValue? {
        if case .array(let values) = self, values.indices.contains(index) { values[index] } else { nil }
    }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
    var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }

    var type: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number(let number): number == number.rounded() ? "integer" : "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

/// The subset of JSON Schema that this package's schemas use; anything else in a schema is a failure.
struct JSONSchema {
    private static let known: Set<String> = [
        "$schema", "$id", "$defs", "$ref", "title", "description", "default", "examples", "type", "properties",
        "required", "additionalProperties", "enum", "const", "items", "oneOf", "anyOf", "pattern", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "minLength", "minItems", "maxItems", "minProperties", "maxProperties",
        "propertyNames", "format", "deprecated", "allOf", "not", "if", "then", "else", "$comment", "uniqueItems",
        "maxLength", "multipleOf",
    ]
    private let root: JSONValue

    init(named name: String) throws {
        let url = Tool.root.appending(path: "docs/schemas/\(name).schema.json")
        root = try JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: url))
    }

    /// Returns the violations of a value; empty if it is valid.
    func problems(of value: JSONValue) -> [String] { check(value, root, "$") }

    private func check(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        guard case .object(let rules) = schema else {
            return schema == .bool(false) ? ["\(path): nothing is allowed here"] : []
        }
        var problems = rules.keys.filter { !Self.known.contains($0) }.map { "\(path): the schema says \($0)" }
        if let reference = rules["$ref"]?.string { problems += check(value, resolve(reference), path) }
        if let type = rules["type"] { problems += checkType(value, type, path) }
        if let constant = rules["const"], constant != value { problems.append("\(path): isn't \(constant)") }
        if let allowed = rules["enum"]?.array, !allowed.contains(value) {
            problems.append("\(path): \(value) isn't allowed")
        }
        if let options = rules["oneOf"]?.array {
            let fitting = options.filter { check(value, $0, path).isEmpty }.count
            if fitting != 1 {
                let reasons = options.map { check(value, $0, path) }.min { $0.count < $1.count } ?? []
                problems.append("\(path): fits \(fitting) of oneOf; \(reasons.prefix(3).joined(separator: "; "))")
            }
        }
        if let options = rules["anyOf"]?.array, !options.contains(where: { check(value, $0, path).isEmpty }) {
            problems.append("\(path): fits none of anyOf")
        }
        for part in rules["allOf"]?.array ?? [] { problems += check(value, part, path) }
        switch value {
        case .number(let number): problems += checkNumber(number, rules, path)
        case .string(let text): problems += checkText(text, rules, path)
        case .array(let values): problems += checkList(values, rules, path)
        case .object(let members): problems += checkObject(members, rules, path)
        default: break
        }
        return problems
    }

    private func resolve(_ reference: String) -> JSONValue {
        reference.split(separator: "/").dropFirst().reduce(root) { $0[String($1)] ?? .bool(false) }
    }

    private func checkType(_ value: JSONValue, _ type: JSONValue, _ path: String) -> [String] {
        let types = type.array?.compactMap(\.string) ?? [type.string ?? ""]
        let fits = types.contains(value.type) || (value.type == "integer" && types.contains("number"))
        return fits ? [] : ["\(path): is \(value.type), not \(types.joined(separator: " or "))"]
    }

    private func checkNumber(_ number: Double, _ rules: [String: JSONValue], _ path: String) -> [String] {
        var problems: [String] = []
        if let least = rules["minimum"]?.number, number < least { problems.append("\(path): is below \(least)") }
        if let most = rules["maximum"]?.number, number > most { problems.append("\(path): is above \(most)") }
        if let least = rules["exclusiveMinimum"]?.number, number <= least {
            problems.append("\(path): isn't above \(least)")
        }
        return problems
    }

    private func checkText(_ text: String, _ rules: [String: JSONValue], _ path: String) -> [String] {
        var problems: [String] = []
        if let least = rules["minLength"]?.number, Double(text.count) < least {
            problems.append("\(path): is too short")
        }
        if let pattern = rules["pattern"]?.string, let regex = try? Regex(pattern), !text.contains(regex) {
            problems.append("\(path): doesn't match \(pattern)")
        }
        return problems
    }

    private func checkList(_ values: [JSONValue], _ rules: [String: JSONValue], _ path: String) -> [String] {
        var problems: [String] = []
        if let least = rules["minItems"]?.number, Double(values.count) < least {
            problems.append("\(path): has too few")
        }
        if let most = rules["maxItems"]?.number, Double(values.count) > most {
            problems.append("\(path): has too many")
        }
        if let items = rules["items"] {
            for (index, value) in values.enumerated() { problems += check(value, items, "\(path)[\(index)]") }
        }
        return problems
    }

    private func checkObject(_ members: [String: JSONValue], _ rules: [String: JSONValue], _ path: String) -> [String] {
        var problems: [String] = []
        let properties = rules["properties"]?.object ?? [:]
        for name in rules["required"]?.array?.compactMap(\.string) ?? [] where members[name] == nil {
            problems.append("\(path): has no \(name)")
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            if let schema = properties[name] {
                problems += check(value, schema, "\(path).\(name)")
            } else if let others = rules["additionalProperties"] {
                problems += check(value, others, "\(path).\(name)").map { $0 }
            }
        }
        return problems
    }
}
