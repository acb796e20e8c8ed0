import HTTPTypes

/// A route, determined by the path.
enum Route: Sendable, Equatable {
    /// `POST /ofrep/v1/evaluate/flags/{key}`.
    case flag(String)
    /// `POST /ofrep/v1/evaluate/flags`.
    case flags
    /// `GET /ofrep/v1/stream`.
    case stream
    /// `POST /v1/events`.
    case events
    /// `GET /openfeature/v0/manifest`.
    case manifest
    /// `GET /health`.
    case health
    /// `GET /ready`.
    case ready
    /// `GET /metrics`.
    case metrics
    /// `GET /console`.
    case console
    /// `GET /console/state`.
    case consoleState
    /// `GET /v1/schemas/{name}`.
    case schema(EventSchema)

    /// The path for evaluating all flags, which is also the prefix of the path for one flag.
    static let evaluation = "/ofrep/v1/evaluate/flags"
    /// The path of the stream of changes.
    static let changes = "/ofrep/v1/stream"
    private static let flagPrefix = evaluation + "/"
    private static let fixed: [String: Route] = [
        evaluation: .flags, flagPrefix: .flags, changes: .stream,
        "/v1/events": .events, "/openfeature/v0/manifest": .manifest, "/health": .health, "/ready": .ready,
        "/metrics": .metrics, "/console": .console, "/console/": .console, "/console/state": .consoleState,
        EventSchema.events.path: .schema(.events), EventSchema.event.path: .schema(.event),
    ]

    /// Finds the route of a path without its query.
    ///
    /// A key is everything after the prefix: one client sends `a/b` verbatim, another as `a%2Fb`, and both mean the
    /// same flag.
    ///
    /// - Returns: The route; `nil` if there is none, or if the key is invalid.
    init?(path: Substring) {
        let bytes = path.utf8
        // The most frequent routes, compared by bytes without a copy of the path.
        if bytes.elementsEqual(Self.evaluation.utf8) {
            self = .flags
            return
        }
        if bytes.count > Self.flagPrefix.utf8.count, bytes.starts(with: Self.flagPrefix.utf8) {
            guard let key = PercentCoding.decoded(Substring(bytes.dropFirst(Self.flagPrefix.utf8.count))) else {
                return nil
            }
            self = .flag(key)
            return
        }
        guard let route = Self.fixed[String(path)] else { return nil }
        self = route
    }

    /// The method that it accepts besides `OPTIONS`; `HEAD` is allowed with `GET`.
    var method: HTTPRequest.Method {
        switch self {
        case .flag, .flags, .events: .post
        case .stream, .manifest, .health, .ready, .metrics, .console, .consoleState, .schema: .get
        }
    }

    /// Whether the caller must authenticate as a tenant.
    var needsTenant: Bool {
        switch self {
        case .flag, .flags, .events, .manifest: true
        case .stream, .health, .ready, .metrics, .console, .consoleState, .schema: false
        }
    }

    /// The route's name in metrics.
    var name: String {
        switch self {
        case .flag: "evaluate"
        case .flags: "evaluate_all"
        case .stream: "stream"
        case .events: "events"
        case .manifest: "manifest"
        case .health: "health"
        case .ready: "ready"
        case .metrics: "metrics"
        case .console, .consoleState: "console"
        case .schema: "schema"
        }
    }

    /// The path with its variable part in braces, as in traces.
    var pattern: String {
        switch self {
        case .flag: "\(Self.evaluation)/{key}"
        case .flags: Self.evaluation
        case .stream: Self.changes
        case .events: "/v1/events"
        case .manifest: "/openfeature/v0/manifest"
        case .health: "/health"
        case .ready: "/ready"
        case .metrics: "/metrics"
        case .console: "/console"
        case .consoleState: "/console/state"
        case .schema: "\(EventSchema.folder){name}"
        }
    }

    /// The names of all routes, in the order of the documentation.
    static let names = [
        "evaluate", "evaluate_all", "stream", "events", "manifest", "health", "ready", "metrics", "console", "schema",
        "none",
    ]
}

/// The parts of a request target.
struct Target: Sendable, Equatable {
    let path: Substring
    let query: Substring

    /// Splits a target at its question mark; removes scheme and host from the absolute form.
    init(_ target: String) {
        var rest = target[...]
        if rest.utf8.first != UInt8(ascii: "/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...].drop { $0 != "/" }
        }
        let bytes = rest.utf8
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"))
        path = mark.map { rest[..<$0] } ?? rest
        query = mark.map { rest[bytes.index(after: $0)...] } ?? ""
    }

    /// The decoded value of a query parameter.
    func parameter(_ name: String) -> String? {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0] == name { return parts.count > 1 ? PercentCoding.decoded(parts[1]) : "" }
        }
        return nil
    }
}

extension Target {
    /// The revision of the rules in the event because of which the client asks again.
    var announced: Int64? {
        query.isEmpty ? nil : parameter("flagConfigEtag").flatMap { EntityTag.revision(in: $0) }
    }
}

/// Strict percent-decoding.
enum PercentCoding {
    /// Decodes a text; `nil` if an escape is invalid, or if the result isn't UTF-8 or contains a zero byte.
    static func decoded(_ text: Substring) -> String? {
        if !text.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == 0 }) { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
