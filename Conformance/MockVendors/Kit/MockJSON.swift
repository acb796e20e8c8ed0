import Foundation

/// A JSON value, as the vendors' back ends read and write them.
///
/// Deliberately not part of the framework: a mock that shared an adapter's parser would share its mistakes.
indirect enum MockJSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([MockJSON])
    case object([String: MockJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The most frequent types first: a decoder takes long to say that a value isn't of a type.
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode([String: MockJSON].self) {
            self = .object(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else {
            self = .array(try container.decode([MockJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
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

    /// Parses JSON; `nil` if it is invalid.
    static func parse(_ bytes: some Sequence<UInt8>) -> MockJSON? {
        try? JSONDecoder().decode(MockJSON.self, from: Data(bytes))
    }

    /// The value as JSON with sorted keys.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The JSON encoded in UTF-8, with sorted keys.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { Array($0) } ?? Array("null".utf8)
    }

    subscript(name: String) -> MockJSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    var int: Int? {
        if case .int(let value) = self { value } else { nil }
    }

    var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    var array: [MockJSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    var object: [String: MockJSON]? {
        if case .object(let value) = self { value } else { nil }
    }

    var isNull: Bool { self == .null }
}
