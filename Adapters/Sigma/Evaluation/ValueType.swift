import AdapterKit
import Experimentation

/// The type words of flags and parameters, whose values all travel as texts.
enum ValueType: Sendable, Hashable {
    case bool
    case string
    case json
    case integer
    case number
    /// A word that came later than this adapter, or none; its texts stay texts.
    case unknown

    init(_ word: String?) {
        self =
            switch word {
            case "bool": .bool
            case "string": .string
            case "json": .json
            case "integer": .integer
            case "number": .number
            default: .unknown
            }
    }

    /// The value that a text of this type means; `nil` if it means none.
    func value(of text: String) -> FlagValue? {
        switch self {
        case .string, .unknown: .string(text)
        case .bool: Bool(text).map { .bool($0) }
        case .json: try? JSON.parse(Array(text.utf8))
        case .integer, .number:
            if let number = Int(text) {
                .int(number)
            } else if let number = Double(text), number.isFinite {
                .double(number)
            } else {
                nil
            }
        }
    }
}
