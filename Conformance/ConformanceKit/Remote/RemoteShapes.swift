import Experimentation

extension Received {
    /// Parses a received event; only `type` is required.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            type: try reader.name("type"),
            userID: try reader.optionalString("userID"),
            anonymousID: try reader.optionalString("anonymousID"),
            name: try reader.optionalString("name"),
            value: try reader.optionalDouble("value"),
            attributes: try reader.object("attributes"),
            experiment: try reader.optionalString("experiment"),
            variation: try reader.optionalString("variation"),
            orderID: try reader.optionalString("orderID"),
            items: try reader.strings("items"),
            isGranted: reader.has("isGranted") ? try reader.bool("isGranted", default: false) : nil,
            campaign: try reader.optionalString("campaign"),
            eventID: try reader.optionalString("eventID"),
            age: try reader.optionalDouble("age"),
            exchange: try reader.optionalInt("exchange") ?? 0
        )
        _ = reader.value("isGranted")
        date = try reader.optionalTime("date")
    }
}

extension WorldGap {
    /// Parses the gaps of a result.
    static func list(reading reader: inout DocumentReader) throws(DocumentError) -> [WorldGap] {
        try reader.each("gaps") { (reader) throws(DocumentError) in
            WorldGap(try reader.name("path"), try reader.name("reason"))
        }
    }
}

extension Exchange {
    /// Parses an exchange.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            number: try reader.int("number", in: 1...Int.max),
            purpose: try reader.choice("purpose", default: .any),
            operation: try reader.optionalString("operation") ?? "",
            method: try reader.optionalString("method") ?? "",
            path: try reader.optionalString("path") ?? "",
            status: try reader.optionalInt("status"),
            bytesIn: try reader.optionalInt("bytesIn") ?? 0,
            bytesOut: try reader.optionalInt("bytesOut") ?? 0,
            connection: try reader.optionalInt("connection") ?? 1,
            fault: try reader.optionalString("fault"),
            request: try reader.optionalString("request") ?? "",
            response: try reader.optionalString("response")
        )
    }
}

extension Assignment {
    /// Parses an assignment.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        let origin: String = try reader.optionalString("origin") ?? Origin.allocated.rawValue
        self.init(
            experiment: Experiment(
                id: try reader.name("experiment"),
                name: try reader.optionalString("experimentName"),
                kind: try reader.optionalString("kind")
            ),
            group: try reader.optionalString("group"),
            variation: Variation(
                id: try reader.name("variation"),
                name: try reader.optionalString("variationName"),
                isControl: try reader.bool("isControl", default: false)
            ),
            isHoldout: try reader.bool("isHoldout", default: false),
            origin: Origin(rawValue: origin) ?? .allocated
        )
    }
}

extension Resolution {
    /// Parses a flag's resolution.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            reader.value("value"),
            variant: try reader.optionalString("variant"),
            reason: Reason(rawValue: try reader.optionalString("reason") ?? Reason.unknown.rawValue),
            error: try reader.optionalString("error").map { ErrorCode(rawValue: $0) },
            errorMessage: try reader.optionalString("errorMessage"),
            metadata: try reader.object("metadata"),
            assignment: try reader.optionalInt("assignment")
        )
    }
}

extension Verdict {
    /// Parses the verdict on an event.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        let reason = try reader.optionalString("reason") ?? ""
        let after = try reader.optionalInt("after").map { Duration.seconds($0) }
        switch try reader.string("verdict") {
        case "delivered": self = .delivered
        case "outage":
            let known = reason.isEmpty ? (after == nil ? .noAnswer : .patience) : OutageReason(rawValue: reason)
            self = .outage(after: after, because: known)
        case "failed": self = .failed(reason)
        case "split": self = .split(reason)
        case "rejected": self = .rejected(reason)
        case "stop": self = .stop(ExperimentationError(.unauthorized, reason))
        default: throw reader.wrong("verdict", expected: "one of delivered, outage, failed, split, rejected, stop")
        }
    }
}

extension ReceivedCampaign {
    /// Parses a campaign that answers an event.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        var items: [String: [String]] = [:]
        for (kind, value) in try reader.object("promotedItems") {
            guard let ids = value.arrayValue, ids.allSatisfy({ $0.stringValue != nil }) else {
                throw reader.wrong("promotedItems", expected: "an object with a list of ids for each kind of item")
            }
            items[kind] = ids.compactMap(\.stringValue)
        }
        self.init(
            eventID: try reader.name("event"),
            campaign: Campaign(
                id: try reader.name("id"),
                name: try reader.optionalString("name") ?? "",
                target: try reader.name("target"),
                experience: Variation(
                    id: try reader.name("experience"),
                    name: try reader.optionalString("experienceName")
                ),
                messageID: try reader.optionalString("message") ?? "",
                content: try reader.object("content"),
                promotedItems: items,
                isControlGroup: try reader.bool("isControlGroup", default: false)
            )
        )
    }
}

extension AssignmentOverride {
    /// The JSON form.
    var document: FlagValue {
        switch self {
        case .include(let experiment, let variation):
            ["include": .string(experiment), "variation": variation.map { .string($0) } ?? .null]
        case .exclude(let experiment): ["exclude": .string(experiment)]
        }
    }
}
