import Foundation

/// Any JSON value, as far as the mock has to look at one.
indirect enum SigmaMockJSON: Sendable, Hashable, Codable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([SigmaMockJSON])
    case object([String: SigmaMockJSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([SigmaMockJSON].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: SigmaMockJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value):
            if let whole = Int(exactly: value) { try container.encode(whole) } else { try container.encode(value) }
        case .text(let value): try container.encode(value)
        case .list(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        }
    }

    /// Parses a text, or gives `nil`.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(SigmaMockJSON.self, from: Data(bytes)) else { return nil }
        self = value
    }

    /// The value as text with sorted names.
    var bytes: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { Array($0) } ?? []
    }
}
