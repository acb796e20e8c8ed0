import Experimentation

/// Writes strings and values as Swift source.
enum SwiftText {
    /// Returns a string literal; invisible characters and those that change the text direction are escaped.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\t": literal += "\\t"
            case _ where isHidden(scalar): literal += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }

    /// Returns a value by its enum cases, which leaves nothing for type inference.
    static func literal(_ value: FlagValue) -> String {
        switch value {
        case .null: ".null"
        case .bool(let value): ".bool(\(value))"
        case .int(let value): ".int(\(value))"
        case .double(let value): ".double(\(value))"
        case .string(let value): ".string(\(literal(value)))"
        case .array(let values): ".array([\(values.map { literal($0) }.joined(separator: ", "))])"
        case .object(let members):
            members.isEmpty
                ? ".object([:])"
                : ".object(["
                    + members.sorted { $0.key < $1.key }.map { "\(literal($0)): \(literal($1))" }.joined(
                        separator: ", "
                    )
                    + "])"
        }
    }

    /// Splits a text into comment lines.
    static func comment(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { line in
            String(String.UnicodeScalarView(line.unicodeScalars.filter { !isHidden($0) }))
        }
        .filter { !$0.isEmpty }
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: false
        }
    }
}
