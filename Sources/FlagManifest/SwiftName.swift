import Experimentation

/// Converts flag keys to Swift names.
enum SwiftName {
    /// The maximum length; longer names are truncated and end in a hash.
    private static let longest = 80

    /// Keywords that need backticks as names of members or of what they are set to, as in `self.await = await`.
    private static let keywords: Set<String> = [
        "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
        "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if",
        "import", "in", "inout",
        "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat",
        "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
        "typealias", "var", "where", "while", "Any",
    ]

    /// Names with another meaning after a dot, even in backticks.
    private static let taken: Set<String> = ["self", "Self", "init", "Type", "Protocol"]

    /// Names that a structure gets from its protocols: a property of the same name makes each use of it ambiguous.
    private static let inherited: Set<String> = ["hashValue"]

    /// Names that no type can have as a member, or that the generated code uses in another meaning.
    private static let takenTypes: Set<String> = [
        "Any", "Self", "Type", "Protocol", "Bool", "String", "Int", "Double", "FlagKey", "FlagValue", "Codable",
        "Sendable", "Hashable", "CodingKey", "CodingKeys",
    ]

    /// Whether the type that encloses the keys can't have a name.
    static func isReserved(_ name: String) -> Bool {
        keywords.contains(name) || taken.contains(name) || takenTypes.contains(name)
    }

    /// Returns the name of a constant or property: `checkout-color` becomes `checkoutColor`.
    static func member(_ key: String) -> String {
        var words = words(of: key)
        let isShouted = !key.contains(where: \.isLowercase)
        if isShouted { words = words.map { $0.lowercased() } }
        guard let first = words.first else { return codePoints(of: key) }
        let name = lowercasedBeginning(first) + words.dropFirst().map(capitalizedBeginning).joined()
        return finished(name, of: key)
    }

    /// Returns the name of a structure's property, before it is quoted: as for a constant, except for `hashValue`.
    static func property(_ key: String) -> String {
        let name = member(key)
        return inherited.contains(name) ? name + "_" : name
    }

    /// Returns the name of a type: `checkout-theme` becomes `CheckoutTheme`, and `string` becomes `FlagString`.
    ///
    /// It always differs from ``member(_:)``, even where the first letter has no capital: `テーマ` becomes `Flagテーマ`.
    static func type(_ key: String) -> String {
        let name = capitalized(key)
        return name == member(key) ? "Flag" + name : free(name)
    }

    /// Returns the name of the type of a structure's property: `size` of `Theme` becomes `ThemeSize`.
    static func type(_ property: String, of structure: String) -> String { free(structure + capitalized(property)) }

    private static func capitalized(_ key: String) -> String {
        let member = member(key).filter { $0 != "`" }
        return capitalizedBeginning(member.first == "_" ? "Flag" + member.dropFirst() : member)
    }

    private static func free(_ name: String) -> String { takenTypes.contains(name) ? "Flag" + name : name }

    /// Returns a member's name with backticks where needed.
    static func quoted(_ name: String) -> String {
        if taken.contains(name) { return name + "_" }
        return keywords.contains(name) ? "`\(name)`" : name
    }

    /// Returns a member's name as an argument's label, where the compiler warns of backticks around all but `inout`.
    static func label(_ name: String) -> String {
        keywords.contains(name) && name != "inout" ? name : quoted(name)
    }

    private static func finished(_ name: String, of key: String) -> String {
        var name = name
        if name.count > longest { name = name.prefix(longest) + "_" + String(key.utf8.fnv1a(), radix: 16) }
        if name.first?.isNumber == true { name = "_" + name }
        return name
    }

    /// Splits a key at characters that a name can't contain.
    private static func words(of key: String) -> [String] {
        key.unicodeScalars.split { !isAllowed($0) }.map { String(String.UnicodeScalarView($0)) }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x00...0x7F: false
        // Leaves out marks and digits of other scripts, which can't begin a name, and emoji, which are hard to type.
        default: scalar.properties.isAlphabetic && scalar.properties.isXIDStart
        }
    }

    /// The name of a key without letters: its code points.
    private static func codePoints(of key: String) -> String {
        finished(
            "u" + key.unicodeScalars.map { String($0.value, radix: 16, uppercase: true) }.joined(separator: "_"),
            of: key
        )
    }

    /// `URLPath` becomes `urlPath`, `Beta` becomes `beta`.
    private static func lowercasedBeginning(_ word: String) -> String {
        let capitals = word.prefix { $0.isUppercase }
        switch capitals.count {
        case 0: return word
        case word.count: return word.lowercased()
        case 1: return capitals.lowercased() + word.dropFirst()
        default: return capitals.dropLast().lowercased() + word.dropFirst(capitals.count - 1)
        }
    }

    private static func capitalizedBeginning(_ word: String) -> String {
        word.prefix(1).uppercased() + word.dropFirst()
    }
}
