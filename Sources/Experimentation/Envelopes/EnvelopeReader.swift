import Foundation

/// Reads the written form of common envelopes; `JSONDecoder` reads the rest.
///
/// It accepts only what ``EnvelopeWriter`` writes itself, without white space, and gives up at the first unexpected
/// token, so that it never decides on its own what is valid.
struct EnvelopeReader {
    /// Leaves the bytes to another reader, which may refuse them.
    private struct GivesUp: Error {}

    private var lexer: JSONLexer
    private var former: FormerTexts

    /// Reads an envelope, or returns `nil` if it isn't a common one.
    static func read(_ bytes: ArraySlice<UInt8>) -> Envelope? {
        var former = FormerTexts()
        return read(bytes, after: &former)
    }

    /// Reads an envelope, or returns `nil` if it isn't a common one.
    ///
    /// - Parameters:
    ///   - bytes: The written form.
    ///   - former: Texts of the previous envelope in a list; this envelope's own afterwards.
    /// - Returns: The envelope.
    static func read(_ bytes: ArraySlice<UInt8>, after former: inout FormerTexts) -> Envelope? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = EnvelopeReader(lexer: JSONLexer(bytes), former: former)
            guard let envelope = try? reader.envelope(), reader.lexer.isAtEnd else { return nil }
            former = FormerTexts(user: envelope.identity.id, session: envelope.session)
            return envelope
        }
    }

    private mutating func envelope() throws -> Envelope {
        try expect("{\"attempts\":")
        let attempts = try whole()
        try expect(",\"attributeChanges\":")
        let changes = try object(0)
        let targets = skip(",\"campaignTargets\":") ? try texts() : nil
        try expect(",\"date\":")
        let date = try lexer.number().double
        try expect(",\"event\":{")
        let event = try event()
        try expect(",\"id\":")
        let id = try lexer.text()
        try expect(",\"identity\":{")
        var anonymousID: String?
        if skip("\"anonymousID\":") {
            anonymousID = try lexer.text()
            try expect(",")
        }
        try expect("\"id\":")
        let user = try lexer.text(like: former.user)
        try expect(",\"isAuthenticated\":")
        let isAuthenticated = try bool()
        try expect("},\"sequence\":")
        let sequence = try whole()
        try expect(",\"session\":")
        let session = try lexer.text(like: former.session)
        let surface = skip(",\"surface\":") ? try lexer.text() : nil
        try expect("}")
        return Envelope(
            id: id,
            sequence: Int64(sequence),
            identity: Identity(id: user, anonymousID: anonymousID, isAuthenticated: isAuthenticated),
            session: session,
            surface: surface,
            campaignTargets: targets,
            event: event,
            date: Date(timeIntervalSince1970: date),
            attributeChanges: Attributes(changes),
            attempts: attempts
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
            let name = try lexer.text()
            try expect(",\"type\":")
            switch try lexer.text() {
            case "custom": kind = .custom(name: name, value: skip(",\"value\":") ? try lexer.number().double : nil)
            case "screenView": kind = .screenView(name: name)
            case "goalCompleted": kind = .goalCompleted(name: name)
            case "goalAbandoned": kind = .goalAbandoned(name: name)
            default: throw GivesUp()
            }
        } else if skip("\"exposure\":") {
            kind = .exposure(try exposure())
            try expect(",\"type\":\"exposure\"")
        } else if skip("\"type\":\"pageView\",\"url\":") {
            kind = .pageView(url: try lexer.text())
        } else {
            throw GivesUp()
        }
        try expect("}")
        return TrackingEvent(kind, attributes: Attributes(attributes))
    }

    private mutating func exposure() throws -> Exposure {
        try expect("{\"assignment\":")
        let assignment = try assignment()
        let defaultValue = skip(",\"defaultValue\":") ? try present() : nil
        let flagKey = skip(",\"flagKey\":") ? try lexer.text() : nil
        let value = skip(",\"value\":") ? try present() : nil
        try expect("}")
        return Exposure(assignment: assignment, flagKey: flagKey, value: value, defaultValue: defaultValue)
    }

    private mutating func assignment() throws -> Assignment {
        try expect("{\"experiment\":{\"id\":")
        let experiment = try lexer.text()
        let kind = skip(",\"kind\":") ? try lexer.text() : nil
        try expect(",\"name\":")
        let name = try lexer.text()
        try expect("},\"group\":")
        let group = try lexer.text()
        try expect(",\"isHoldout\":")
        let isHoldout = try bool()
        try expect(",\"metadata\":")
        let metadata = try object(0)
        try expect(",\"origin\":")
        guard let origin = Assignment.Origin(rawValue: try lexer.text()) else { throw GivesUp() }
        try expect(",\"variation\":{\"id\":")
        let variation = try lexer.text()
        try expect(",\"isControl\":")
        let isControl = try bool()
        try expect(",\"name\":")
        let title = try lexer.text()
        try expect("}}")
        return Assignment(
            experiment: Experiment(id: experiment, name: name, kind: kind),
            group: group,
            variation: Variation(id: variation, name: title, isControl: isControl),
            isHoldout: isHoldout,
            origin: origin,
            metadata: metadata
        )
    }

    // MARK: JSON

    /// Reads a value; as for the decoder, `null` is none.
    private mutating func present() throws -> FlagValue? {
        let value = try value(0)
        return value == .null ? .none : .some(value)
    }

    private mutating func bool() throws -> Bool {
        if skip("true") { return true }
        try expect("false")
        return false
    }

    private mutating func object(_ depth: Int) throws -> [String: FlagValue] {
        try expect("{")
        if skip("}") { return [:] }
        // Most events have a few; growing from one to two to four costs more than reading them.
        var values: [String: FlagValue] = Dictionary(minimumCapacity: 3)
        repeat {
            let name = try lexer.text()
            try expect(":")
            guard values.updateValue(try value(depth + 1), forKey: name) == nil else { throw GivesUp() }
        } while skip(",")
        try expect("}")
        return values
    }

    /// Reads a value recursively, bounded by the maximum depth of an event.
    private mutating func value(_ depth: Int) throws -> FlagValue {
        guard depth <= EnvelopeCoding.maximumDepth else { throw GivesUp() }
        switch lexer.current {
        case UInt8(ascii: "\""): return .string(try lexer.text())
        case UInt8(ascii: "{"): return .object(try object(depth))
        case UInt8(ascii: "["): return .array(try list(depth))
        case UInt8(ascii: "t") where skip("true"): return true
        case UInt8(ascii: "f") where skip("false"): return false
        case UInt8(ascii: "n") where skip("null"): return .null
        default:
            switch try lexer.number() {
            case .whole(let number): return .int(number)
            case .decimal(let number) where Int(exactly: number) == nil: return .double(number)
            // The decoder decides whether long numbers and numbers with an exponent are integers.
            default: throw GivesUp()
            }
        }
    }

    private mutating func texts() throws -> [String] {
        try list(0).map { value in
            guard case .string(let text) = value else { throw GivesUp() }
            return text
        }
    }

    private mutating func list(_ depth: Int) throws -> [FlagValue] {
        try expect("[")
        var values: [FlagValue] = []
        if skip("]") { return values }
        repeat { values.append(try value(depth + 1)) } while skip(",")
        try expect("]")
        return values
    }

    private mutating func whole() throws -> Int {
        guard case .whole(let number) = try lexer.number() else { throw GivesUp() }
        return number
    }

    @inline(__always)
    private mutating func skip(_ text: StaticString) -> Bool { lexer.take(exactly: text) }

    @inline(__always)
    private mutating func expect(_ text: StaticString) throws {
        guard skip(text) else { throw GivesUp() }
    }
}

/// Texts of an envelope that the next one of a list often repeats, and then shares.
package struct FormerTexts: Sendable {
    fileprivate var user = ""
    fileprivate var session = ""

    /// Creates the texts of no envelope.
    package init() {}

    fileprivate init(user: String, session: String) { (self.user, self.session) = (user, session) }
}
