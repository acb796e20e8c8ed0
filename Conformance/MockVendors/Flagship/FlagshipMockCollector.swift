/// An exposure reported to the vendor.
public struct FlagshipMockActivation: Sendable, Hashable, Codable {
    /// The visitor, `vid`.
    public var visitor: String
    /// The anonymous id, `aid`.
    public var anonymous: String?
    /// The variation group, `caid`.
    public var group: String
    /// The variation, `vaid`.
    public var variation: String
    /// The queue time as sent, `qt`.
    public var queueTime: Int?
    /// The request that carried it, counting from 1; exposures of one batch share it.
    public var request: Int
}

/// A hit or an exposure, with the body of the request that carried it.
public struct FlagshipMockTaken: Sendable, Hashable {
    /// The exposure; `nil` for a hit.
    public var activation: FlagshipMockActivation?
    /// The hit as JSON with sorted keys; `nil` for an exposure.
    public var json: String?
    /// The body of the whole request.
    public var body: [UInt8]
}

/// A hit that the collector accepted.
struct FlagshipMockHit: Sendable, Hashable {
    var request: Int
    var isBatched: Bool
    var fields: [String: MockJSON]

    var json: MockJSON {
        .object(fields.merging(["_request": .int(request), "_batched": .bool(isBatched)]) { _, mine in mine })
    }
}

/// Validates what the collector receives.
enum FlagshipMockCollector {
    private enum Shape { case text, number, numberOrText, whole, context }

    private static let common: [String: Shape] = [
        "t": .text, "cid": .text, "ds": .text, "vid": .text, "cuid": .text, "qt": .number, "uip": .text, "sr": .text,
        "sd": .text, "ul": .text, "dl": .text, "dr": .text,
        // The SDK for TypeScript sends it as a string, the others as a number.
        "sn": .numberOrText,
    ]

    private static let shapes: [String: (required: [String], fields: [String: Shape])] = [
        "SCREENVIEW": (["dl"], [:]),
        "PAGEVIEW": (["dl"], [:]),
        "TRANSACTION": (
            ["tid", "ta"],
            [
                "tid": .text, "ta": .text, "tr": .number, "ts": .number, "tt": .number, "tc": .text, "tcc": .text,
                "pm": .text, "sm": .text, "icn": .whole,
            ]
        ),
        "ITEM": (
            ["tid", "in", "ic"],
            ["tid": .text, "in": .text, "ic": .text, "ip": .number, "iq": .whole, "iv": .text]
        ),
        "EVENT": (["ec", "ea"], ["ec": .text, "ea": .text, "el": .text, "ev": .whole]),
        "SEGMENT": (["s"], ["s": .context]),
        "CAMPAIGN": (["caid", "vaid"], ["caid": .text, "vaid": .text]),
    ]

    /// Parses the hits of a request, single or in a batch.
    ///
    /// - Throws: What is wrong with the first invalid hit; then none is accepted.
    static func hits(
        of body: [UInt8],
        environment: String,
        request: Int
    ) throws(MockWorldError) -> [FlagshipMockHit] {
        guard let fields = MockJSON.parse(body)?.object else {
            throw MockWorldError("the body is not a JSON object")
        }
        guard fields["t"]?.string == "BATCH" else {
            try check(fields, environment: environment, envelope: nil)
            return [FlagshipMockHit(request: request, isBatched: false, fields: fields)]
        }
        guard let cid = fields["cid"]?.string, cid == environment else {
            throw MockWorldError("a batch needs the environment's id as 'cid'")
        }
        guard let children = fields["h"]?.array, !children.isEmpty else {
            throw MockWorldError("a batch needs hits in 'h'")
        }
        var hits: [FlagshipMockHit] = []
        for child in children {
            guard let members = child.object, members["t"]?.string != "BATCH" else {
                throw MockWorldError("a batch holds hits, and no batches")
            }
            try check(members, environment: environment, envelope: cid)
            hits.append(FlagshipMockHit(request: request, isBatched: true, fields: members))
        }
        return hits
    }

    private static func check(
        _ fields: [String: MockJSON],
        environment: String,
        envelope: String?
    ) throws(MockWorldError) {
        guard let type = fields["t"]?.string, let shape = shapes[type] else {
            throw MockWorldError("'t' is \(fields["t"]?.text ?? "missing"), which is no type of hit")
        }
        guard (fields["cid"]?.string ?? envelope) == environment else {
            throw MockWorldError("\(type): 'cid' is not this environment")
        }
        // Only batches of the SDK for TypeScript put the source into the envelope.
        guard fields["ds"]?.string == "APP" || (fields["ds"] == nil && envelope != nil) else {
            throw MockWorldError("\(type): 'ds' must be APP")
        }
        guard let visitor = fields["vid"]?.string ?? fields["cuid"]?.string, !visitor.isEmpty else {
            throw MockWorldError("\(type): a visitor is needed")
        }
        for name in shape.required where fields[name] == nil || fields[name]?.isNull == true {
            throw MockWorldError("\(type): '\(name)' is missing")
        }
        for (name, value) in fields where !value.isNull {
            // Unknown members are tolerated, as analytics collectors do.
            guard let wanted = shape.fields[name] ?? common[name] else { continue }
            guard fits(value, wanted) else {
                throw MockWorldError("\(type): '\(name)' has the wrong type")
            }
        }
        if let queueTime = fields["qt"]?.number, queueTime < 0 {
            throw MockWorldError("\(type): 'qt' is negative")
        }
        if type == "EVENT", !["Action Tracking", "User Engagement"].contains(fields["ec"]?.string) {
            throw MockWorldError("EVENT: 'ec' is no category")
        }
        if type == "EVENT", let value = fields["ev"]?.int, value < 0 {
            throw MockWorldError("EVENT: 'ev' is negative")
        }
    }

    private static func fits(_ value: MockJSON, _ shape: Shape) -> Bool {
        switch shape {
        case .text: value.string != nil
        case .number: value.number != nil
        case .numberOrText: value.number != nil || value.string != nil
        case .whole: value.int != nil
        case .context: value.object?.values.allSatisfy { $0.string != nil } ?? false
        }
    }

    // MARK: Reports

    /// Parses a usage or troubleshooting report.
    ///
    /// - Throws: What is wrong with it.
    static func report(
        of body: [UInt8],
        type: String,
        environment: String
    ) throws(MockWorldError) -> MockJSON {
        guard let json = MockJSON.parse(body), let fields = json.object else {
            throw MockWorldError("the body is not a JSON object")
        }
        guard fields["t"]?.string == type else { throw MockWorldError("'t' must be \(type) here") }
        guard fields["cid"]?.string == environment else { throw MockWorldError("'cid' is not this environment") }
        guard fields["ds"]?.string == "APP" else { throw MockWorldError("'ds' must be APP") }
        guard fields["vid"]?.string?.isEmpty == false else { throw MockWorldError("a visitor is needed") }
        guard fields["qt"]?.number ?? 0 >= 0 else { throw MockWorldError("'qt' is negative") }
        guard let values = fields["cv"]?.object, values.values.allSatisfy({ $0.string != nil }) else {
            throw MockWorldError("'cv' must be a flat object of texts")
        }
        for name in ["version", "envId", "timestamp", "label", "stack.type", "stack.name", "stack.version"]
        where values[name]?.string?.isEmpty ?? true {
            throw MockWorldError("'cv': '\(name)' is missing")
        }
        guard values["envId"]?.string == environment else {
            throw MockWorldError("'cv': 'envId' is not this environment")
        }
        guard (values["label"]?.string == "SDK_CONFIG") == (type == "USAGE") else {
            throw MockWorldError("'cv': SDK_CONFIG is the label of usage, and of nothing else")
        }
        return json
    }

    // MARK: Activations

    /// Parses the exposures of a request, single or in a batch.
    ///
    /// - Throws: The vendor's message listing everything that is wrong; then none is accepted.
    static func activations(
        of body: [UInt8],
        environment: String,
        request: Int
    ) throws(MockWorldError) -> [FlagshipMockActivation] {
        guard let fields = MockJSON.parse(body)?.object else {
            throw MockWorldError("the request body is not a JSON object")
        }
        guard let batch = fields["batch"] else {
            return [try activation(fields, cid: nil, environment: environment, request: request)]
        }
        for name in fields.keys where name != "batch" && name != "cid" {
            throw MockWorldError("unknown field \"\(name)\"")
        }
        guard let entries = batch.array, !entries.isEmpty else {
            throw MockWorldError("invalid value for list type: batch")
        }
        var activations: [FlagshipMockActivation] = []
        for entry in entries {
            guard let members = entry.object else { throw MockWorldError("invalid value in batch") }
            activations.append(
                try activation(members, cid: fields["cid"]?.string, environment: environment, request: request)
            )
        }
        return activations
    }

    private static func activation(
        _ fields: [String: MockJSON],
        cid: String?,
        environment: String,
        request: Int
    ) throws(MockWorldError) -> FlagshipMockActivation {
        let known: Set<String> = ["cid", "vid", "aid", "caid", "vaid", "qt"]
        for name in fields.keys.sorted() where !known.contains(name) {
            throw MockWorldError("unknown field \"\(name)\"")
        }
        var errors: [String: MockJSON] = [:]
        for name in ["vid", "caid", "vaid"] where fields[name]?.string?.isEmpty ?? true {
            errors[name] = .string("Field is mandatory.")
        }
        if let anonymous = fields["aid"], !anonymous.isNull, anonymous.string == nil {
            errors["aid"] = .string("Field must be a string.")
        }
        if let queueTime = fields["qt"], !queueTime.isNull, queueTime.number == nil || queueTime.number ?? 0 < 0 {
            errors["qt"] = .string("Field must be a number, and not negative.")
        }
        let client = fields["cid"]?.string ?? cid
        if client == nil {
            errors["cid"] = .string("Field is mandatory.")
        } else if client != environment {
            errors["cid"] = .string("Field does not match the environment.")
        }
        guard errors.isEmpty, let visitor = fields["vid"]?.string, let group = fields["caid"]?.string,
            let variation = fields["vaid"]?.string
        else {
            throw MockWorldError(MockJSON.object(["status": .string("error"), "errors": .object(errors)]).text)
        }
        return FlagshipMockActivation(
            visitor: visitor,
            anonymous: fields["aid"]?.string,
            group: group,
            variation: variation,
            queueTime: fields["qt"]?.int,
            request: request
        )
    }
}
