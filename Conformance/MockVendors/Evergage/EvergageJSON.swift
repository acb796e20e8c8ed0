import Foundation

/// A JSON value; the mock has its own parser and encoder.
enum EvergageJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([EvergageJSON])
    case object([String: EvergageJSON])

    /// Parses JSON; `nil` if it is invalid.
    init?(parsing bytes: some Sequence<UInt8>) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
        self = value
    }

    subscript(key: String) -> EvergageJSON? {
        if case .object(let values) = self { values[key] } else { nil }
    }

    var object: [String: EvergageJSON]? {
        if case .object(let values) = self { values } else { nil }
    }
    var array: [EvergageJSON]? {
        if case .array(let values) = self { values } else { nil }
    }
    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }
    /// The string, unless it is blank.
    var text: String? {
        guard let string, string.contains(where: { !$0.isWhitespace }) else { return nil }
        return string
    }
    var number: Double? {
        if case .number(let value) = self { value } else { nil }
    }
    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
    var whole: Int? { number.flatMap(Int.init(exactly:)) }

    /// Whether the value is `true`, or the string `true` that some third parties send.
    var isTrue: Bool { self == .bool(true) || string?.lowercased() == "true" }
}

extension EvergageJSON: Decodable {
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
        } else if let value = try? container.decode([EvergageJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: EvergageJSON].self))
        }
    }
}

extension EvergageJSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .number(Double(value)) }
    init(arrayLiteral elements: EvergageJSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, EvergageJSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
    init(_ values: [String]) { self = .array(values.map(EvergageJSON.string)) }
    init(_ value: Int) { self = .number(Double(value)) }
}

extension EvergageJSON: CustomStringConvertible {
    /// The value as JSON with sorted keys.
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let value): Int(exactly: value).map(String.init) ?? (value.isFinite ? String(value) : "null")
        case .string(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.description).joined(separator: ",") + "]"
        case .object(let values):
            "{"
                + values.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.description }
                .joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if scalar.value < 0x20 {
                    let digits = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}
