import Foundation

/// Reads the written form of common envelopes; whatever else there is, `JSONDecoder` reads.
///
/// It takes only what ``EnvelopeWriter`` writes by itself and gives up at the first byte that it doesn't expect, so that
/// it never has an opinion of its own on what is valid.
struct EnvelopeReader {
    /// The bytes are for somebody else to read, or to refuse.
    private struct GivesUp: Error {}

    /// Read only where ``index`` was compared with its count.
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Reads an envelope, or gives `nil` if it isn't a common one.
    static func read(_ bytes: ArraySlice<UInt8>) -> Envelope? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = EnvelopeReader(bytes)
            guard let envelope = try? reader.envelope(), reader.index == bytes.count else { return nil }
            return envelope
        }
    }

    private mutating func envelope() throws -> Envelope {
        try expect("{\"attempts\":")
        let attempts = try whole()
        try expect(",\"attributeChanges\":")
        let changes = try object(0)
        let batch = skip(",\"batch\":") ? try string() : nil
        try expect(",\"date\":")
        let date = try double()
        try expect(",\"event\":{")
        let event = try event()
        try expect(",\"id\":")
        let id = try string()
        try expect(",\"identity\":{")
        var anonymousID: String?
        if skip("\"anonymousID\":") {
            anonymousID = try string()
            try expect(",")
        }
        try expect("\"id\":")
        let user = try string()
        try expect(",\"isAuthenticated\":")
        let isAuthenticated = skip("true")
        if !isAuthenticated { try expect("false") }
        try expect("},\"sequence\":")
        let sequence = try whole()
        try expect(",\"session\":")
        let session = try string()
        let surface = skip(",\"surface\":") ? try string() : nil
        try expect("}")
        return Envelope(
            id: id,
            sequence: Int64(sequence),
            identity: Identity(id: user, anonymousID: anonymousID, isAuthenticated: isAuthenticated),
            session: session,
            surface: surface,
            event: event,
            date: Date(timeIntervalSince1970: date),
            attributeChanges: Attributes(changes),
            attempts: attempts,
            batch: batch
        )
    }

    private mutating func event() throws -> TrackingEvent {
        var attributes: [String: FlagValue] = [:]
        if skip("\"attributes\":") {
            attributes = try object(0)
            try expect(",")
        }
        let kind: TrackingEvent.Kind
        if skip("\"name\":") {
            let name = try string()
            try expect(",\"type\":")
            switch try string() {
            case "custom": kind = .custom(name: name, value: skip(",\"value\":") ? try double() : nil)
            case "screenView": kind = .screenView(name: name)
            case "goalCompleted": kind = .goalCompleted(name: name)
            case "goalAbandoned": kind = .goalAbandoned(name: name)
            default: throw GivesUp()
            }
        } else if skip("\"type\":\"pageView\",\"url\":") {
            kind = .pageView(url: try string())
        } else {
            throw GivesUp()
        }
        try expect("}")
        return TrackingEvent(kind, attributes: Attributes(attributes))
    }

    // MARK: JSON

    private mutating func object(_ depth: Int) throws -> [String: FlagValue] {
        try expect("{")
        if skip("}") { return [:] }
        // Most events have a few; to grow from one to two to four costs more than to read them.
        var values: [String: FlagValue] = Dictionary(minimumCapacity: 3)
        repeat {
            let name = try string()
            try expect(":")
            guard values.updateValue(try value(depth + 1), forKey: name) == nil else { throw GivesUp() }
        } while skip(",")
        try expect("}")
        return values
    }

    private mutating func value(_ depth: Int) throws -> FlagValue {
        guard index < bytes.count, depth <= EnvelopeCoding.maximumDepth else { throw GivesUp() }
        switch bytes[index] {
        case 0x22: return .string(try string())
        case 0x7B: return .object(try object(depth))
        case 0x5B:
            index += 1
            var values: [FlagValue] = []
            if skip("]") { return .array(values) }
            repeat { values.append(try value(depth + 1)) } while skip(",")
            try expect("]")
            return .array(values)
        case 0x74:
            try expect("true")
            return true
        case 0x66:
            try expect("false")
            return false
        case 0x6E:
            try expect("null")
            return .null
        default:
            if let whole = integer() { return .int(whole) }
            let start = index
            // Whether long numbers, and numbers with an exponent, are whole ones is the decoder's to say.
            let number = try double()
            let token = bytes[start..<index]
            let isPlain = token.contains(0x2E) && !token.contains(0x45) && !token.contains(0x65)
            guard isPlain, Int(exactly: number) == nil else { throw GivesUp() }
            return .double(number)
        }
    }

    private mutating func string() throws -> String {
        try expect("\"")
        guard let start = bytes.baseAddress.map({ $0 + index }), let end = memchr(start, 0x22, bytes.count - index)
        else { throw GivesUp() }
        let token = UnsafeBufferPointer(start: start, count: UnsafeRawPointer(end) - UnsafeRawPointer(start))
        // All bytes without a way out on the way: that is many at a time.
        var all: UInt8 = 0
        var isPlain = true
        for byte in token {
            isPlain = isPlain && byte != 0x5C && byte >= 0x20
            all |= byte
        }
        // Escapes and control characters are seldom.
        guard isPlain else { throw GivesUp() }
        index += token.count + 1
        // What is all ASCII needs no look at its validity, which costs more than the rest.
        if all < 0x80 { return String(decoding: token, as: UTF8.self) }
        guard let text = String(validating: token, as: UTF8.self) else { throw GivesUp() }
        return text
    }

    private mutating func whole() throws -> Int {
        guard let number = integer() else { throw GivesUp() }
        return number
    }

    /// Reads a whole number, or reads nothing.
    private mutating func integer() -> Int? {
        let before = index
        let isNegative = skip("-")
        let start = index
        var number = 0
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39, index - start < 18 {
            number = number * 10 + Int(bytes[index] - 0x30)
            index += 1
        }
        let next = index < bytes.count ? bytes[index] : 0
        // Eighteen digits always fit; a nineteenth, a fraction or an exponent make it something else.
        let goesOn = next == 0x2E || next == 0x45 || next == 0x65 || (next >= 0x30 && next <= 0x39)
        let hasLeadingZero = index > start && bytes[start] == 0x30 && (index > start + 1 || isNegative)
        guard index > start, !goesOn, !hasLeadingZero else {
            index = before
            return nil
        }
        return isNegative ? -number : number
    }

    private mutating func double() throws -> Double {
        if let whole = integer() { return Double(whole) }
        let start = index
        scan: while index < bytes.count {
            switch bytes[index] {
            case 0x30...0x39, 0x2B, 0x2D, 0x2E, 0x45, 0x65: index += 1
            default: break scan
            }
        }
        let token = bytes[start..<index]
        guard isNumber(token) else { throw GivesUp() }
        if let number = DecimalFraction.read(token) { return number }
        guard let number = Double(String(decoding: token, as: UTF8.self)), number.isFinite else { throw GivesUp() }
        return number
    }

    /// Whether JSON calls this a number; Swift is more liberal with zeros and points.
    private func isNumber(_ token: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        func isDigit(_ byte: UInt8?) -> Bool { byte.map { (0x30...0x39).contains($0) } ?? false }
        let digits = token.first == 0x2D ? token.dropFirst() : token
        guard isDigit(digits.first), digits.first != 0x30 || !isDigit(digits.dropFirst().first) else { return false }
        guard let point = digits.firstIndex(of: 0x2E) else { return true }
        return isDigit(digits[(point + 1)...].first)
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            guard let start = bytes.baseAddress, let wanted = text.baseAddress, bytes.count - index >= text.count,
                memcmp(start + index, wanted, text.count) == 0
            else { return false }
            index += text.count
            return true
        }
    }

    private mutating func expect(_ text: StaticString) throws {
        guard skip(text) else { throw GivesUp() }
    }
}
