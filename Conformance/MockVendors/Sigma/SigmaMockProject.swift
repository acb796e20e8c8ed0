import Foundation

/// How a project answers, regardless of its content.
public struct SigmaMockBehaviour: Sendable, Hashable {
    /// Answers everything with this status.
    public var status: Int?
    /// Answers this many requests of each operation with 503 before it recovers.
    public var failFirst = 0
    /// The delay before each answer, in milliseconds.
    public var delayMilliseconds = 0
    /// Omits the body.
    public var emptyBody = false
    /// Sends only the first half of the body, with a matching length.
    public var truncateBody = false
    /// Closes the connection instead of answering.
    public var dropConnection = false
    /// Rejects requests that lack a field of the vendor's SDK with 400.
    public var requiresFields = true

    /// Creates the normal behavior.
    public init(
        status: Int? = nil,
        failFirst: Int = 0,
        delayMilliseconds: Int = 0,
        emptyBody: Bool = false,
        truncateBody: Bool = false,
        dropConnection: Bool = false,
        requiresFields: Bool = true
    ) {
        self.status = status
        self.failFirst = failFirst
        self.delayMilliseconds = delayMilliseconds
        self.emptyBody = emptyBody
        self.truncateBody = truncateBody
        self.dropConnection = dropConnection
        self.requiresFields = requiresFields
    }
}

/// A project of the back end: what it serves, and how.
struct SigmaMockProject: Sendable {
    var configuration: [UInt8]
    var place = Array(SigmaMock.place.utf8)
    var behaviour = SigmaMockBehaviour()
    /// The number of requests failed because of `failFirst`, by operation.
    var failed: [String: Int] = [:]

    init(configuration: [UInt8]) { self.configuration = configuration }

    /// Returns the answer to a request and its delay; counts the failures injected.
    mutating func answer(to operation: String) -> (milliseconds: Int, response: MockResponse) {
        let wait = behaviour.delayMilliseconds
        if failed[operation, default: 0] < behaviour.failFirst {
            failed[operation, default: 0] += 1
            return (wait, Self.response(Array(#"{"error":"unavailable"}"#.utf8), status: 503))
        }
        var body = operation == "geo" ? place : configuration
        if behaviour.emptyBody { body = [] }
        if behaviour.truncateBody { body = Array(body.prefix(body.count / 2)) }
        var response = Self.response(body, status: behaviour.status ?? 200)
        if behaviour.dropConnection { response.fault = .reset }
        return (wait, response)
    }

    /// The project as reported under `/_mock/`.
    var state: MockJSON {
        .object([
            "config": Self.readable(configuration), "geo": Self.readable(place),
            "status": behaviour.status.map { .int($0) } ?? .null,
            "failFirst": .int(behaviour.failFirst), "failed": .int(failed.values.reduce(0, +)),
            "delayMs": .int(behaviour.delayMilliseconds), "emptyBody": .bool(behaviour.emptyBody),
            "truncateBody": .bool(behaviour.truncateBody), "dropConnection": .bool(behaviour.dropConnection),
            "requiresFields": .bool(behaviour.requiresFields),
        ])
    }

    mutating func apply(_ change: SigmaMockChange) {
        if let configuration = change.configuration { self.configuration = configuration }
        if let place = change.place { self.place = place }
        behaviour = change.behaviour(over: behaviour)
        failed = [:]
    }

    static func response(_ body: [UInt8], status: Int = 200) -> MockResponse {
        MockResponse(
            status: status,
            headers: [
                .init("Content-Type", "application/json; charset=utf-8"), .init("Cache-Control", "no-store"),
            ],
            body: body
        )
    }

    /// Returns why a text isn't a valid `config.json`, or `nil` if it is.
    ///
    /// Only the outermost structure is checked: the real service also serves records that the SDK then drops.
    static func complaint(about configuration: [UInt8]) -> String? {
        guard let value = MockJSON.parse(configuration) else { return "config.json: not JSON" }
        guard case .object(let root) = value else { return "config.json: expected an object" }
        for key in ["feature_flags", "experiments"] {
            switch root[key] {
            case nil, .array: continue
            default: return "config.json: \(key): expected an array"
            }
        }
        guard root["feature_flags"] != nil || root["experiments"] != nil else {
            return "config.json: expected feature_flags or experiments"
        }
        return nil
    }

    private static func readable(_ body: [UInt8]) -> MockJSON {
        MockJSON.parse(body) ?? .string(String(decoding: body, as: UTF8.self))
    }
}

/// The changes that a `PUT` makes to a project.
struct SigmaMockChange {
    let configuration: [UInt8]?
    let place: [UInt8]?
    private let fields: [String: MockJSON]

    private static let known = [
        "config", "geo", "status", "failFirst", "delayMs", "emptyBody", "truncateBody", "dropConnection",
        "requiresFields",
    ]

    init(_ body: [UInt8]) throws(MockWorldError) {
        guard case .object(let fields) = MockJSON.parse(body) else { throw MockWorldError("expected a JSON object") }
        self.fields = fields
        for key in fields.keys.sorted() {
            guard Self.known.contains(key) else {
                throw MockWorldError("\(key): unknown; expected one of \(Self.known.joined(separator: ", "))")
            }
        }
        configuration = try Self.body(of: "config", in: fields)
        place = try Self.body(of: "geo", in: fields)
        for key in ["emptyBody", "truncateBody", "dropConnection", "requiresFields"] where fields[key] != nil {
            guard case .bool = fields[key] else { throw MockWorldError("\(key): expected true or false") }
        }
        for (key, range) in [("status", 100...599), ("failFirst", 0...1_000_000), ("delayMs", 0...600_000)] {
            guard let value = fields[key], value != .null else { continue }
            guard let number = value.int, range.contains(number) else {
                throw MockWorldError(
                    "\(key): expected a whole number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
        }
    }

    func behaviour(over old: SigmaMockBehaviour) -> SigmaMockBehaviour {
        var new = old
        if let status = fields["status"] { new.status = status.int }
        new.failFirst = fields["failFirst"]?.int ?? new.failFirst
        new.delayMilliseconds = fields["delayMs"]?.int ?? new.delayMilliseconds
        if case .bool(let value) = fields["emptyBody"] { new.emptyBody = value }
        if case .bool(let value) = fields["truncateBody"] { new.truncateBody = value }
        if case .bool(let value) = fields["dropConnection"] { new.dropConnection = value }
        if case .bool(let value) = fields["requiresFields"] { new.requiresFields = value }
        return new
    }

    private static func body(
        of key: String,
        in fields: [String: MockJSON]
    ) throws(MockWorldError) -> [UInt8]? {
        switch fields[key] {
        case nil: return nil
        case .string(let text): return Array(text.utf8)
        case .object(let object): return MockJSON.object(object).bytes
        default: throw MockWorldError("\(key): expected an object, or a text that is served as it is")
        }
    }
}
