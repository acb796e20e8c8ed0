import Foundation

/// A JSON value, as this vendor's back end reads and writes them.
indirect enum FlagshipMockJSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([FlagshipMockJSON])
    case object([String: FlagshipMockJSON])

    init(from decoder: any Decoder) throws {
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
        } else if let value = try? container.decode([FlagshipMockJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: FlagshipMockJSON].self))
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

    /// Reads a text, or gives `nil` for one that isn't JSON.
    static func parse(_ bytes: some Sequence<UInt8>) -> FlagshipMockJSON? {
        try? JSONDecoder().decode(FlagshipMockJSON.self, from: Data(bytes))
    }

    /// The text, with sorted names.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    subscript(name: String) -> FlagshipMockJSON? {
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

    var array: [FlagshipMockJSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    var object: [String: FlagshipMockJSON]? {
        if case .object(let value) = self { value } else { nil }
    }

    var isNull: Bool { self == .null }
}
