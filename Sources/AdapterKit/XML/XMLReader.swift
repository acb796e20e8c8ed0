import Experimentation

/// Reads XML from outside: as a whole, or not at all.
///
/// The reader supports elements, attributes, text, CDATA sections, comments, processing instructions, XML's five
/// predefined entities, and character references. Any `<!DOCTYPE` is refused, so that there are no other entities and
/// nothing to fetch. A document is accepted only if its one root is closed and only white space follows. The reader
/// uses no recursion and reads nothing but its bytes (`docs/decisions/0021-xml.md`).
public enum XMLReader {
    /// The maximum nesting of elements, unless a call states another.
    public static let deepest = 64

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - bytes: The document in UTF-8, with or without a byte order mark.
    ///   - deepest: The maximum nesting of elements.
    /// - Returns: The root.
    /// - Throws: `ErrorCode.parseError` with line and column; never the text itself, which may be personal.
    public static func parse(
        _ bytes: [UInt8],
        deepest: Int = XMLReader.deepest
    ) throws(ExperimentationError) -> XMLTree {
        // One check for the whole document: from here on every byte sequence is valid text.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ExperimentationError(.parseError, "the document isn't UTF-8")
        }
        if XMLCharacters.maySuspect(bytes),
            let illegal = text.unicodeScalars.first(where: { !XMLCharacters.isAllowed($0) })
        {
            throw ExperimentationError(
                .parseError,
                "the document holds U+\(String(illegal.value, radix: 16, uppercase: true)), which XML doesn't allow"
            )
        }
        var parser = XMLParserState(bytes, deepest: deepest)
        return try parser.document()
    }

    /// Reads a document.
    public static func parse(
        _ text: String,
        deepest: Int = XMLReader.deepest
    ) throws(ExperimentationError) -> XMLTree {
        try parse(Array(text.utf8), deepest: deepest)
    }
}

/// The characters that XML 1.0 allows, and those that names may have.
enum XMLCharacters {
    /// Whether valid UTF-8 may contain a character that isn't allowed: a control character, or U+FFFE or U+FFFF, which
    /// begin with EF.
    ///
    /// Checking bytes costs a fraction of checking characters, and nearly every document is free of both.
    static func maySuspect(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            for byte in bytes {
                if byte < 0x20, byte != 0x0a, byte != 0x09, byte != 0x0d { return true }
                if byte == 0xef { return true }
            }
            return false
        }
    }

    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xa, 0xd, 0x20...0xd7ff, 0xe000...0xfffd, 0x10000...0x10ffff: true
        default: false
        }
    }

    static func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x3a, 0x5f, 0x41...0x5a, 0x61...0x7a, 0xc0...0xd6, 0xd8...0xf6, 0xf8...0x2ff, 0x370...0x37d,
            0x37f...0x1fff, 0x200c...0x200d, 0x2070...0x218f, 0x2c00...0x2fef, 0x3001...0xd7ff, 0xf900...0xfdcf,
            0xfdf0...0xfffd, 0x10000...0xeffff:
            true
        default: false
        }
    }

    static func isName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2d, 0x2e, 0x30...0x39, 0xb7, 0x300...0x36f, 0x203f...0x2040: true
        default: isNameStart(scalar)
        }
    }

    static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, isNameStart(first) else { return false }
        return text.unicodeScalars.dropFirst().allSatisfy(isName)
    }
}
