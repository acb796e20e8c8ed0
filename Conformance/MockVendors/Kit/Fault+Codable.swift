/// The JSON format: an object whose `kind` names the case, with its associated values as further members.
///
/// `{"kind":"status","status":503,"retryAfter":"1"}`, `{"kind":"delay","milliseconds":50}`, `{"kind":"stall"}`.
extension Fault {
    /// Decodes a fault; the error for an unknown kind, an unknown key or a value out of range names it.
    public init(from decoder: any Decoder) throws {
        var reader = try FieldReader(decoder)
        let kind: String = try reader.value("kind")
        switch kind {
        case "status":
            self = .status(
                try reader.number("status", in: 100...599),
                retryAfter: try reader.optional("retryAfter"),
                body: try reader.optional("body"),
                contentType: try reader.optional("contentType")
            )
        case "delay": self = .delay(milliseconds: try reader.number("milliseconds", in: 0...3_600_000))
        case "stall": self = .stall
        case "reset": self = .reset
        case "resetAfterApplying": self = .resetAfterApplying
        case "truncate": self = .truncate(after: try reader.number("after", in: 0...Int.max))
        case "wrongLength": self = .wrongLength(by: try reader.number("by", in: -1_000_000_000...1_000_000_000))
        case "garbage": self = .garbage
        case "redirect":
            self = .redirect(status: try reader.number("status", in: 300...399), to: try reader.value("to"))
        case "drip":
            self = .drip(millisecondsPerByte: try reader.number("millisecondsPerByte", in: 0...60_000))
        case "compressedBomb":
            self = .compressedBomb(bytes: try reader.number("bytes", in: 1...4_000_000_000))
        case "body": self = .body(try reader.value("body"), contentType: try reader.value("contentType"))
        default:
            throw reader.corrupted("kind", "no fault of the kind \"\(kind)\"; there are \(Self.kinds)")
        }
        try reader.finish()
    }

    /// Encodes a fault.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: FieldName.self)
        func put(_ kind: String) throws { try fields.encode(kind, forKey: FieldName("kind")) }
        func put(_ value: (some Encodable)?, _ key: String) throws {
            try fields.encodeIfPresent(value, forKey: FieldName(key))
        }
        switch self {
        case .status(let status, let retryAfter, let body, let contentType):
            try put("status")
            try put(status, "status")
            try put(retryAfter, "retryAfter")
            try put(body, "body")
            try put(contentType, "contentType")
        case .delay(let milliseconds):
            try put("delay")
            try put(milliseconds, "milliseconds")
        case .stall: try put("stall")
        case .reset: try put("reset")
        case .resetAfterApplying: try put("resetAfterApplying")
        case .truncate(let after):
            try put("truncate")
            try put(after, "after")
        case .wrongLength(let by):
            try put("wrongLength")
            try put(by, "by")
        case .garbage: try put("garbage")
        case .redirect(let status, let to):
            try put("redirect")
            try put(status, "status")
            try put(to, "to")
        case .drip(let milliseconds):
            try put("drip")
            try put(milliseconds, "millisecondsPerByte")
        case .compressedBomb(let bytes):
            try put("compressedBomb")
            try put(bytes, "bytes")
        case .body(let text, let contentType):
            try put("body")
            try put(text, "body")
            try put(contentType, "contentType")
        }
    }

    private static let kinds = """
        status, delay, stall, reset, resetAfterApplying, truncate, wrongLength, garbage, redirect, drip, \
        compressedBomb and body
        """
}

/// The JSON format: `{"on":"activate","after":1,"times":2,"fault":{…}}`; without `times` once, with `null` forever.
extension ScriptedFault {
    /// Decodes a scripted fault; the error for an unknown key names it.
    public init(from decoder: any Decoder) throws {
        var reader = try FieldReader(decoder)
        on = try reader.optional("on")
        after = reader.has("after") ? try reader.number("after", in: 0...Int.max) : 0
        times =
            if !reader.has("times") { 1 } else if try reader.isNull("times") { nil } else {
                try reader.number("times", in: 1...Int.max)
            }
        containing = try reader.optional("containing")
        fault = try reader.value("fault")
        try reader.finish()
    }

    /// Encodes a scripted fault.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: FieldName.self)
        try fields.encodeIfPresent(on, forKey: FieldName("on"))
        if after > 0 { try fields.encode(after, forKey: FieldName("after")) }
        if let times {
            try fields.encode(times, forKey: FieldName("times"))
        } else {
            try fields.encodeNil(forKey: FieldName("times"))
        }
        try fields.encodeIfPresent(containing, forKey: FieldName("containing"))
        try fields.encode(fault, forKey: FieldName("fault"))
    }
}

private struct FieldName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Decodes an object's fields and tracks which were read, so that unknown ones can be rejected.
private struct FieldReader {
    private let fields: KeyedDecodingContainer<FieldName>
    private var known: Set<String> = []

    init(_ decoder: any Decoder) throws { fields = try decoder.container(keyedBy: FieldName.self) }

    mutating func has(_ key: String) -> Bool {
        known.insert(key)
        return fields.contains(FieldName(key))
    }

    mutating func isNull(_ key: String) throws -> Bool {
        known.insert(key)
        return try fields.decodeNil(forKey: FieldName(key))
    }

    mutating func value<Value: Decodable>(_ key: String) throws -> Value {
        known.insert(key)
        return try fields.decode(Value.self, forKey: FieldName(key))
    }

    mutating func optional<Value: Decodable>(_ key: String) throws -> Value? {
        known.insert(key)
        return try fields.decodeIfPresent(Value.self, forKey: FieldName(key))
    }

    mutating func number(_ key: String, in range: ClosedRange<Int>) throws -> Int {
        let number: Int = try value(key)
        guard range.contains(number) else {
            throw corrupted(key, "\(number) is not from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func finish() throws {
        guard let stray = fields.allKeys.map(\.stringValue).filter({ !known.contains($0) }).min() else { return }
        throw corrupted(stray, "no such key here; known are \(known.sorted().joined(separator: ", "))")
    }

    func corrupted(_ key: String, _ reason: String) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: fields.codingPath + [FieldName(key)], debugDescription: reason)
        )
    }
}
