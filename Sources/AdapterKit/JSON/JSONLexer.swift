import Experimentation

/// Reads JSON's tokens.
struct JSONLexer {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The byte here; 0 at the end, which begins no token.
    var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    var isAtEnd: Bool { position == bytes.count }

    mutating func advance() { position += 1 }

    mutating func skipByteOrderMark() {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
    }

    mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0a, 0x0d, 0x09: position += 1
            default: return
            }
        }
    }

    /// Takes this byte and the space after it, if it is here.
    mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        skipSpace()
        return true
    }

    func error(_ reason: String) -> ExperimentationError {
        let read = bytes[..<min(position, bytes.count)]
        let line = read.count { $0 == 0x0a } + 1
        let column = read.count - (read.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        let what = position >= bytes.count ? "the document ends too early; \(reason)" : reason
        return ExperimentationError(.parseError, "line \(line), column \(column): \(what)")
    }

    // MARK: Literals and numbers

    mutating func scalar() throws(ExperimentationError) -> FlagValue {
        switch current {
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw error("expected a value")
        }
    }

    private mutating func literal(_ word: StaticString, _ value: FlagValue) throws(ExperimentationError) -> FlagValue {
        let length = word.utf8CodeUnitCount
        let matches =
            position + length <= bytes.count
            && (0..<length).allSatisfy { bytes[position + $0] == word.utf8Start[$0] }
        guard matches else { throw error("expected a value") }
        position += length
        return value
    }

    private var digit: Int? {
        let value = Int(current) - 0x30
        return 0...9 ~= value ? value : nil
    }

    private mutating func number() throws(ExperimentationError) -> FlagValue {
        let start = position
        let isNegative = current == UInt8(ascii: "-")
        if isNegative { position += 1 }
        guard digit != nil else { throw error("expected a digit") }
        var whole = 0
        var overflows = false
        let leadsWithZero = digit == 0
        var digits = 0
        while let digit {
            // Counted downwards for the sake of the least Int.
            let (shifted, first) = whole.multipliedReportingOverflow(by: 10)
            let (sum, second) = shifted.subtractingReportingOverflow(digit)
            whole = sum
            overflows = overflows || first || second
            digits += 1
            position += 1
        }
        if leadsWithZero && digits > 1 { throw error("a number doesn't begin with 0") }
        var isWhole = true
        if current == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            try someDigits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isWhole = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try someDigits()
        }
        if isWhole, !overflows, !(isNegative && whole == 0), isNegative || whole != Int.min {
            return .int(isNegative ? whole : -whole)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw error("a number that is too large") }
        return .double(value)
    }

    private mutating func someDigits() throws(ExperimentationError) {
        guard digit != nil else { throw error("expected a digit") }
        while digit != nil { position += 1 }
    }

    // MARK: Strings

    mutating func string() throws(ExperimentationError) -> String {
        position += 1
        let start = position
        var isASCII = true
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let text = try text(bytes[start..<position], isASCII: isASCII)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                return try stringWithEscapes(from: start)
            case 0..<0x20:
                throw error("a control character in a text")
            default:
                if byte >= 0x80 { isASCII = false }
                position += 1
            }
        }
        throw error("expected the end of a text")
    }

    private func text(
        _ slice: Slice<UnsafeBufferPointer<UInt8>>,
        isASCII: Bool
    ) throws(ExperimentationError) -> String {
        if isASCII { return String(decoding: UnsafeBufferPointer(rebasing: slice), as: UTF8.self) }
        guard let text = String(validating: UnsafeBufferPointer(rebasing: slice), as: UTF8.self) else {
            throw error("a text that isn't UTF-8")
        }
        return text
    }

    private mutating func stringWithEscapes(from start: Int) throws(ExperimentationError) -> String {
        var built = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: built, as: UTF8.self) else {
                    throw error("a text that isn't UTF-8")
                }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &built)
            case 0..<0x20:
                throw error("a control character in a text")
            default:
                built.append(byte)
                position += 1
            }
        }
        throw error("expected the end of a text")
    }

    private mutating func escape(into built: inout [UInt8]) throws(ExperimentationError) {
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
            built.append(contentsOf: Character(scalar).utf8)
            return
        default: throw error("no such escape")
        }
        position += 1
    }

    private mutating func unicodeEscape() throws(ExperimentationError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        guard 0xd800...0xdfff ~= first else {
            guard let scalar = Unicode.Scalar(first) else { throw error("no such character") }
            return scalar
        }
        guard first < 0xdc00, current == UInt8(ascii: "\\") else { throw error("half a surrogate pair") }
        position += 1
        guard current == UInt8(ascii: "u") else { throw error("half a surrogate pair") }
        position += 1
        let second = try fourHexDigits()
        guard 0xdc00...0xdfff ~= second,
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw error("half a surrogate pair") }
        return scalar
    }

    private mutating func fourHexDigits() throws(ExperimentationError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt32
            switch current {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt32(current) - 0x30
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = UInt32(current) - 0x57
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = UInt32(current) - 0x37
            default: throw error("expected four hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }
}
