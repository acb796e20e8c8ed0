import Foundation

extension JSONLexer {
    /// Reads a string in quotes.
    ///
    /// - Parameter former: Returned if it is the same text, which saves creating another one: many texts of a list
    ///   repeat.
    /// - Returns: The text.
    /// - Throws: What is wrong with it: a control character, an invalid escape, half a surrogate pair, bytes that
    ///   aren't UTF-8, or no end.
    package mutating func text(like former: String? = nil) throws(JSONFault) -> String {
        guard current == UInt8(ascii: "\"") else { throw fault("expected a text in quotes") }
        position += 1
        guard let start = bytes.baseAddress.map({ $0 + position }),
            let end = memchr(start, Int32(UInt8(ascii: "\"")), bytes.count - position)
        else { return try escapedText() }
        let token = UnsafeBufferPointer(start: start, count: UnsafeRawPointer(end) - UnsafeRawPointer(start))
        var all: UInt8 = 0
        var isPlain = true
        // Without an early exit the loop is vectorized.
        for byte in token {
            isPlain = isPlain && byte != UInt8(ascii: "\\") && byte >= 0x20
            all |= byte
        }
        guard isPlain else { return try escapedText() }
        position += token.count
        if let former, former.isWritten(token) {
            position += 1
            return former
        }
        // ASCII needs no validation, which costs more than the rest.
        guard let text = all < 0x80 ? String(decoding: token, as: UTF8.self) : String(validating: token, as: UTF8.self)
        else { throw fault("a text that isn't UTF-8") }
        position += 1
        return text
    }

    /// Continues after the opening quote, byte by byte.
    private mutating func escapedText() throws(JSONFault) -> String {
        var built: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: built, as: UTF8.self) else {
                    throw fault("a text that isn't UTF-8")
                }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &built)
            case 0..<0x20:
                throw fault("a control character in a text")
            default:
                built.append(byte)
                position += 1
            }
        }
        throw fault("expected the end of a text")
    }

    private mutating func escape(into built: inout [UInt8]) throws(JSONFault) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): built.append(current)
        case UInt8(ascii: "b"): built.append(0x08)
        case UInt8(ascii: "f"): built.append(0x0c)
        case UInt8(ascii: "n"): built.append(0x0a)
        case UInt8(ascii: "r"): built.append(0x0d)
        case UInt8(ascii: "t"): built.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            let scalar = try unicodeEscape()
            built.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            return
        default: throw fault("no such escape")
        }
        position += 1
    }

    private mutating func unicodeEscape() throws(JSONFault) -> Unicode.Scalar {
        let first = try fourHexDigits()
        guard 0xd800...0xdfff ~= first else {
            guard let scalar = Unicode.Scalar(first) else { throw fault("no such character") }
            return scalar
        }
        guard first < 0xdc00, current == UInt8(ascii: "\\") else { throw fault("half a surrogate pair") }
        position += 1
        guard current == UInt8(ascii: "u") else { throw fault("half a surrogate pair") }
        position += 1
        let second = try fourHexDigits()
        guard 0xdc00...0xdfff ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw fault("half a surrogate pair") }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt32
            switch current {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt32(current) - 0x30
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt32(current) - 0x57
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = UInt32(current) - 0x37
            default: throw fault("expected four hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }
}

extension String {
    /// Whether its UTF-8 is exactly these bytes.
    fileprivate func isWritten(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard utf8.count == bytes.count, let start = bytes.baseAddress else { return false }
        return utf8.withContiguousStorageIfAvailable { own in
            own.baseAddress.map { memcmp($0, start, own.count) == 0 } ?? false
        } ?? false
    }
}
