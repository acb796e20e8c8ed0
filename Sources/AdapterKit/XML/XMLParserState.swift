import Experimentation

/// Reads one document, element by element; open elements are on an explicit stack.
struct XMLParserState {
    private let bytes: [UInt8]
    private let deepest: Int
    private var position = 0
    private var open: [XMLTree] = []
    private var root: XMLTree?

    init(_ bytes: [UInt8], deepest: Int) {
        self.bytes = bytes
        self.deepest = deepest
    }

    mutating func document() throws(ExperimentationError) -> XMLTree {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
        if has("<?xml"), !isNameByte(after: 5) { try declaration() }
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "<") { try markup() } else { try text() }
        }
        guard open.isEmpty, let root else {
            throw error(root == nil && open.isEmpty ? "no element" : "the document ends too early")
        }
        return root
    }

    private mutating func markup() throws(ExperimentationError) {
        switch position + 1 < bytes.count ? bytes[position + 1] : 0 {
        case UInt8(ascii: "/"): try endTag()
        case UInt8(ascii: "?"): try instruction()
        case UInt8(ascii: "!"):
            if has("<!--") {
                try comment()
            } else if has("<![CDATA[") {
                try section()
            } else {
                throw error("a document type or another declaration, which isn't read")
            }
        default: try startTag()
        }
    }

    // MARK: Tags

    private mutating func startTag() throws(ExperimentationError) {
        guard root == nil else { throw error("a second root") }
        guard open.count < deepest else { throw error("more than \(deepest) elements in one another") }
        position += 1
        var element = XMLTree(try name())
        // A set, because comparing each name with all before it takes minutes for a few hundred thousand.
        var names: Set<ExactText> = []
        while true {
            let hadSpace = skipSpace()
            if has("/>") {
                position += 2
                return close(element)
            }
            if current == UInt8(ascii: ">") {
                position += 1
                open.append(element)
                return
            }
            guard hadSpace else { throw error("expected space, > or />") }
            let attribute = try attribute()
            guard names.insert(ExactText(attribute.name)).inserted else {
                throw error("an attribute that appears twice")
            }
            element.attributes.append(attribute)
        }
    }

    private mutating func endTag() throws(ExperimentationError) {
        position += 2
        let name = try nameRange()
        skipSpace()
        // Compared by bytes: in XML, composed and decomposed letters are different names.
        guard let last = open.indices.last, open[last].name.utf8.elementsEqual(bytes[name]) else {
            throw error("an end tag that doesn't fit")
        }
        try expect(UInt8(ascii: ">"))
        close(open.removeLast())
    }

    private mutating func close(_ element: XMLTree) {
        if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
    }

    private mutating func attribute() throws(ExperimentationError) -> XMLTree.Attribute {
        let name = try name()
        skipSpace()
        try expect(UInt8(ascii: "="))
        skipSpace()
        guard let quote = current, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw error("expected a quoted value")
        }
        position += 1
        var value: [UInt8] = []
        while let byte = current, byte != quote {
            switch byte {
            case UInt8(ascii: "<"): throw error("a < in a value")
            case UInt8(ascii: "&"): value.append(contentsOf: try reference())
            case 0x09, 0x0a:
                value.append(0x20)
                position += 1
            case 0x0d:
                value.append(0x20)
                position += has("\r\n") ? 2 : 1
            default:
                value.append(byte)
                position += 1
            }
        }
        try expect(quote)
        return XMLTree.Attribute(name, String(decoding: value, as: UTF8.self))
    }

    private mutating func name() throws(ExperimentationError) -> String {
        String(decoding: bytes[try nameRange()], as: UTF8.self)
    }

    private mutating func nameRange() throws(ExperimentationError) -> Range<Int> {
        let start = position
        var isPlain = true
        while position < bytes.count {
            let byte = bytes[position]
            if byte >= 0x80 {
                isPlain = false
            } else if !Self.isNameByte(byte) {
                break
            }
            position += 1
        }
        // An ASCII name needs no check of its characters, except the first.
        let isName =
            isPlain
            ? start < position && XMLCharacters.isNameStart(Unicode.Scalar(bytes[start]))
            : XMLCharacters.isName(String(decoding: bytes[start..<position], as: UTF8.self))
        guard isName else { throw error("expected a name") }
        return start..<position
    }

    // MARK: Text

    private mutating func text() throws(ExperimentationError) {
        guard let last = open.indices.last else {
            guard skipSpace() else { throw error("text outside of the root") }
            return
        }
        let start = position
        while position < bytes.count, !Self.isSpecial(bytes[position]) { position += 1 }
        if current == UInt8(ascii: "<") {
            // Plain text, which is taken as it is.
            open[last].text += String(decoding: bytes[start..<position], as: UTF8.self)
            return
        }
        var built = Array(bytes[start..<position])
        while let byte = current, byte != UInt8(ascii: "<") {
            switch byte {
            case UInt8(ascii: "&"): built.append(contentsOf: try reference())
            case UInt8(ascii: "]") where has("]]>"): throw error("]]> in a text")
            default: take(into: &built)
            }
        }
        open[last].text += String(decoding: built, as: UTF8.self)
    }

    /// Whether a byte of a text has a special meaning, or ends it.
    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: "]") || byte == 0x0d
    }

    private mutating func section() throws(ExperimentationError) {
        guard let last = open.indices.last else { throw error("text outside of the root") }
        position += 9
        var built: [UInt8] = []
        while !has("]]>") {
            guard current != nil else { throw error("the document ends too early") }
            take(into: &built)
        }
        position += 3
        open[last].text += String(decoding: built, as: UTF8.self)
    }

    /// Takes a byte; every kind of line end becomes a line feed.
    private mutating func take(into built: inout [UInt8]) {
        if bytes[position] == 0x0d {
            built.append(0x0a)
            position += has("\r\n") ? 2 : 1
        } else {
            built.append(bytes[position])
            position += 1
        }
    }

    private mutating func reference() throws(ExperimentationError) -> [UInt8] {
        position += 1
        let start = position
        while let byte = current, byte != UInt8(ascii: ";"), position - start < 12 { position += 1 }
        let reference = String(decoding: bytes[start..<position], as: UTF8.self)
        try expect(UInt8(ascii: ";"))
        switch reference {
        case "amp": return Array("&".utf8)
        case "lt": return Array("<".utf8)
        case "gt": return Array(">".utf8)
        case "quot": return Array("\"".utf8)
        case "apos": return Array("'".utf8)
        default: break
        }
        let isHexadecimal = reference.hasPrefix("#x")
        let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
        guard reference.hasPrefix("#"), let first = digits.first, first != "+", first != "-",
            let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(number),
            XMLCharacters.isAllowed(scalar)
        else { throw error("a reference to something unknown") }
        return Array(Character(scalar).utf8)
    }

    // MARK: Discarded content

    private mutating func declaration() throws(ExperimentationError) {
        let start = position
        try instruction()
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let key = text.firstRange(of: "encoding") else { return }
        let value = text[key.upperBound...].drop { " \t\r\n=\"'".contains($0) }
            .prefix { !"\"'? \t\r\n".contains($0) }.lowercased()
        guard value == "utf-8" || value == "us-ascii" || value == "ascii" else {
            throw error("another encoding than UTF-8")
        }
    }

    private mutating func instruction() throws(ExperimentationError) {
        let start = position
        position += 2
        let target = try name()
        guard target.lowercased() != "xml" || (start == 0 || start == 3 && bytes[0] == 0xef) else {
            throw error("an XML declaration inside the document")
        }
        while !has("?>") {
            guard current != nil else { throw error("the document ends too early") }
            position += 1
        }
        position += 2
    }

    private mutating func comment() throws(ExperimentationError) {
        position += 4
        while !has("--") {
            guard current != nil else { throw error("the document ends too early") }
            position += 1
        }
        guard has("-->") else { throw error("-- in a comment") }
        position += 3
    }

    // MARK: Bytes

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func has(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count else { return false }
        for offset in 0..<length where bytes[position + offset] != text.utf8Start[offset] { return false }
        return true
    }

    private func isNameByte(after offset: Int) -> Bool {
        position + offset < bytes.count && Self.isNameByte(bytes[position + offset])
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte < 0x80 && XMLCharacters.isName(Unicode.Scalar(byte))
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = position
        while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
        return position > start
    }

    private mutating func expect(_ byte: UInt8) throws(ExperimentationError) {
        guard current == byte else { throw error("expected \(Character(Unicode.Scalar(byte)))") }
        position += 1
    }

    private func error(_ reason: String) -> ExperimentationError {
        let read = bytes[..<min(position, bytes.count)]
        let line = read.count { $0 == 0x0a } + 1
        let column = read.count - (read.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        return ExperimentationError(.parseError, "line \(line), column \(column): \(reason)")
    }
}
