import AdapterKit
import Experimentation

/// The types of flags and parameters, whose values are all texts on the wire.
enum ValueType: String, Sendable {
    case bool
    case string
    case json
    case integer
    case number
    /// An unknown or missing type; its texts stay strings.
    case unknown

    init(_ word: String?) { self = word.flatMap { Self(rawValue: $0) } ?? .unknown }

    /// Returns the value of a text of this type; `nil` if it has none.
    func value(of text: String) -> FlagValue? {
        switch self {
        case .string, .unknown: .string(text)
        case .bool: Bool(text).map { .bool($0) }
        case .json: try? JSON.parse(Array(text.utf8))
        case .integer, .number: Int(text).map { .int($0) } ?? Double(sigmaString: text).map { .double($0) }
        }
    }
}
