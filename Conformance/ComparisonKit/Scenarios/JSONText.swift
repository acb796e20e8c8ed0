import ConformanceKit
import Experimentation
import Foundation

/// A strict JSON parser that keeps track of lines.
struct JSONText {
    private let bytes: [UInt8]
    private let name: String
    private var position = 0
    private var line = 1
    private var depth = 0
    private(set) var lines: [String: Int] = [:]

    init(bytes: [UInt8], name: String) {
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        self.name = name
    }

    /// Parses the whole text as one value.
    mutating func document() throws(DocumentError) -> FlagValue {
        guard bytes.count <= SourceDocument.largest else {
            throw refused("is larger than \(SourceDocument.largest >> 20) MB")
        }
        skipSpace()
        guard position < bytes.count else {
            throw DocumentError(document: name, path: "", problem: "is empty; expected a JSON object")
        }
        let value = try value(at: "")
        skipSpace()
        guard position == bytes.count else { throw refused("expected the end of the text, found \(here)") }
        return value
    }

    private mutating func value(at path: String) throws(DocumentError) -> FlagValue {
        if lines[path] == nil { lines[path] = line }
        switch peek {
        case UInt8(ascii: "{"): return try object(at: path)
        case UInt8(ascii: "["): return try array(at: path)
        case UInt8(ascii: "\""): return .string(try text())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(at path: String) throws(DocumentError) -> FlagValue {
        try enter()
        var members: [String: FlagValue] = [:]
        skipSpace()
        if take("}") {
            depth -= 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw refused("expected a key in quotes, found \(here)") }
            let keyLine = line
            let key = try text()
            let place = path.isEmpty ? key : "\(path).\(key)"
            guard members[key] == nil else {
                throw DocumentError(document: "\(name):\(keyLine)", path: place, problem: "the key is there twice")
            }
            lines[place] = keyLine
            skipSpace()
            guard take(":") else { throw refused("expected a colon after \"\(key)\", found \(here)") }
            skipSpace()
            members[key] = try value(at: place)
            skipSpace()
            if take(",") { continue }
            guard take("}") else { throw refused("expected a comma or }, found \(here)") }
            depth -= 1
            return .object(members)
        }
    }

    private mutating func array(at path: String) throws(DocumentError) -> FlagValue {
        try enter()
        var elements: [FlagValue] = []
        skipSpace()
        if take("]") {
            depth -= 1
            return .array(elements)
        }
        while true {
            skipSpace()
            elements.append(try value(at: "\(path)[\(elements.count)]"))
            skipSpace()
            if take(",") { continue }
            guard take("]") else { throw refused("expected a comma or ], found \(here)") }
            depth -= 1
            return .array(elements)
        }
    }

    private mutating func enter() throws(DocumentError) {
        position += 1
        depth += 1
        guard depth <= SourceDocument.deepest else {
            throw refused("is nested more than \(SourceDocument.deepest) levels deep")
        }
    }

    private mutating func text() throws(DocumentError) -> String {
        position += 1
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] >= 0x20 else { throw refused("expected the text's closing quote, found \(here)") }
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else {
            position = bytes.count
            throw refused("expected the text's closing quote, found \(here)")
        }
        let raw = bytes[start..<position]
        position += 1
        if !raw.contains(UInt8(ascii: "\\")), let text = String(validating: raw, as: UTF8.self) { return text }
        // Escapes are left to Foundation, which handles surrogate pairs and their errors.
        let quoted = Data([UInt8(ascii: "\"")] + raw + [UInt8(ascii: "\"")])
        guard let text = try? JSONDecoder().decode(String.self, from: quoted) else {
            throw refused("expected a text in UTF-8 with valid escapes")
        }
        return text
    }

    private mutating func number() throws(DocumentError) -> FlagValue {
        let start = position
        let characters = Set("+-0123456789.eE".utf8)
        while position < bytes.count, characters.contains(bytes[position]) { position += 1 }
        guard position > start else { throw refused("expected a value, found \(here)") }
        let raw = Data(bytes[start..<position])
        if let whole = try? JSONDecoder().decode(Int.self, from: raw) { return .int(whole) }
        if let number = try? JSONDecoder().decode(Double.self, from: raw), number.isFinite { return .double(number) }
        position = start
        throw refused("expected a finite number, found \(String(decoding: raw.prefix(20), as: UTF8.self))")
    }

    private mutating func word(_ word: String, _ value: FlagValue) throws(DocumentError) -> FlagValue {
        guard bytes[position...].starts(with: word.utf8) else { throw refused("expected a value, found \(here)") }
        position += word.utf8.count
        return value
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x0A:
                line += 1
                position += 1
            case 0x20, 0x09, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ character: Character) -> Bool {
        guard let expected = character.asciiValue, peek == expected else { return false }
        position += 1
        return true
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private var here: String {
        guard let byte = peek else { return "the end of the file" }
        return (0x21...0x7E).contains(byte) ? "\"\(Character(Unicode.Scalar(byte)))\"" : "a byte \(byte)"
    }

    private func refused(_ problem: String) -> DocumentError {
        DocumentError(document: "\(name):\(line)", path: "", problem: problem)
    }
}
