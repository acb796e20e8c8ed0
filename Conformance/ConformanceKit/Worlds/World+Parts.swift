import Experimentation
import Foundation

extension World.Flag {
    /// Parses a flag.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        let key = try reader.name("key")
        let value = reader.value("value")
        let named: World.FlagType? =
            reader.has("type") ? try reader.choice("type") : World.FlagType(of: reader.value("value"))
        _ = reader.value("type")
        guard let type = named else { throw reader.wrong("value", expected: "a value, or \"type\" beside null") }
        let rules = try reader.each("rules") { (reader) throws(DocumentError) in
            Rule(
                when: try reader.each("when") { (reader) throws(DocumentError) in
                    try World.Condition(reading: &reader)
                },
                value: reader.value("value")
            )
        }
        self.init(
            key,
            value,
            type: type,
            rules: rules,
            experiment: try reader.optionalString("experiment"),
            variations: try reader.object("variations"),
            isDisabled: try reader.bool("disabled", default: false),
            isMalformed: try reader.bool("malformed", default: false)
        )
        guard Self.matches(value, type) else {
            throw reader.wrong("value", expected: "a value of type \(type.rawValue)")
        }
        if type == .double {
            self.value = Self.widened(value)
            for index in rules.indices { self.rules[index].value = Self.widened(rules[index].value) }
            variations = variations.mapValues(Self.widened)
        }
        for (index, rule) in rules.enumerated() where !Self.matches(rule.value, type) {
            throw reader.error("rules[\(index)].value", "expected a value of type \(type.rawValue)")
        }
        for (variation, value) in variations.sorted(by: { $0.key < $1.key }) where !Self.matches(value, type) {
            throw reader.error("variations.\(variation)", "expected a value of type \(type.rawValue)")
        }
    }

    private static func widened(_ value: FlagValue) -> FlagValue {
        if case .int(let number) = value, let exact = Double(exactly: number) { .double(exact) } else { value }
    }

    private static func matches(_ value: FlagValue, _ type: World.FlagType) -> Bool {
        guard let actual = World.FlagType(of: value) else { return true }
        return actual == type || (type == .double && actual == .int)
    }

    var document: FlagValue {
        var members: [String: FlagValue] = ["key": .string(key), "value": value]
        // JSON doesn't distinguish 3.0 from 3.
        if type == .double || World.FlagType(of: value) != type { members["type"] = .string(type.rawValue) }
        if !rules.isEmpty {
            members["rules"] = .array(
                rules.map { ["when": .array($0.when.map(\.document)), "value": $0.value] }
            )
        }
        if let experiment { members["experiment"] = .string(experiment) }
        if !variations.isEmpty { members["variations"] = .object(variations) }
        if isDisabled { members["disabled"] = true }
        if isMalformed { members["malformed"] = true }
        return .object(members)
    }
}

extension World.Condition {
    /// Parses a condition.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            try reader.name("attribute"),
            try reader.choice("comparison", default: .equals),
            reader.value("value")
        )
    }

    var document: FlagValue {
        ["attribute": .string(attribute), "comparison": .string(comparison.rawValue), "value": value]
    }
}

extension World.Experiment {
    /// Parses an experiment.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            try reader.name("id"),
            name: try reader.optionalString("name"),
            variations: try reader.each("variations") { (reader) throws(DocumentError) in
                Variation(
                    try reader.name("id"),
                    name: try reader.optionalString("name"),
                    weight: try reader.int("weight", in: 0...100),
                    isControl: try reader.bool("control", default: false)
                )
            },
            targeting: try reader.each("targeting") { (reader) throws(DocumentError) in
                try World.Condition(reading: &reader)
            },
            layer: try Layer(reading: &reader),
            forced: try reader.texts("forced"),
            isSticky: try reader.bool("sticky", default: false),
            isRunning: try reader.bool("running", default: true)
        )
        guard !variations.isEmpty else { throw reader.wrong("variations", expected: "at least one variation") }
    }

    var document: FlagValue {
        var members: [String: FlagValue] = ["id": .string(id)]
        if name != id { members["name"] = .string(name) }
        members["variations"] = .array(
            variations.map { variation in
                var members: [String: FlagValue] = ["id": .string(variation.id), "weight": .int(variation.weight)]
                if variation.name != variation.id { members["name"] = .string(variation.name) }
                if variation.isControl { members["control"] = true }
                return .object(members)
            }
        )
        if !targeting.isEmpty { members["targeting"] = .array(targeting.map(\.document)) }
        if let layer { members["layer"] = layer.document }
        if !forced.isEmpty { members["forced"] = .object(forced.mapValues { .string($0) }) }
        if isSticky { members["sticky"] = true }
        if !isRunning { members["running"] = false }
        return .object(members)
    }
}

extension World.Holdout {
    var document: FlagValue {
        var members: [String: FlagValue] = ["id": .string(id), "weight": .int(weight)]
        if name != id { members["name"] = .string(name) }
        if !experiments.isEmpty { members["experiments"] = .array(experiments.map { .string($0) }) }
        return .object(members)
    }
}

extension World.Campaign {
    /// Parses a campaign.
    init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            try reader.name("id"),
            name: try reader.optionalString("name"),
            target: try reader.name("target"),
            trigger: try reader.name("trigger"),
            triggerName: try reader.optionalString("triggerName"),
            experience: try reader.name("experience"),
            controlGroup: try reader.strings("controlGroup"),
            content: try reader.object("content"),
            promotedItems: try reader.strings("promotedItems")
        )
        guard TrackingEvent.types.contains(trigger) else {
            throw reader.wrong("trigger", expected: "one of " + TrackingEvent.types.joined(separator: ", "))
        }
    }

    var document: FlagValue {
        var members: [String: FlagValue] = [
            "id": .string(id), "target": .string(target), "trigger": .string(trigger),
            "experience": .string(experience),
        ]
        if name != id { members["name"] = .string(name) }
        if let triggerName { members["triggerName"] = .string(triggerName) }
        if !controlGroup.isEmpty { members["controlGroup"] = .array(controlGroup.map { .string($0) }) }
        if !content.isEmpty { members["content"] = .object(content) }
        if !promotedItems.isEmpty { members["promotedItems"] = .array(promotedItems.map { .string($0) }) }
        return .object(members)
    }
}

extension User {
    /// Parses a user from a document's keys: `id`, `anonymousId`, `authenticated`, `attributes`, `consent`.
    ///
    /// `consent` is one of the words or, as on the command line, true or false.
    public init(reading reader: inout DocumentReader) throws(DocumentError) {
        let id = try reader.name("id")
        let anonymousID = try reader.optionalString("anonymousId")
        let isAuthenticated = try reader.bool("authenticated", default: false)
        let attributes = Attributes(try reader.object("attributes"))
        let consent: Consent
        switch reader.value("consent") {
        case .null: consent = .unknown
        case .bool(let granted): consent = granted ? .granted : .denied
        case .string(let word):
            guard let named = Consent(rawValue: word) else {
                throw reader.wrong("consent", expected: "true, false, unknown, granted or denied")
            }
            consent = named
        default: throw reader.wrong("consent", expected: "true, false, unknown, granted or denied")
        }
        self.init(
            id: id,
            anonymousID: anonymousID,
            isAuthenticated: isAuthenticated,
            attributes: attributes,
            consent: consent
        )
    }

    /// The JSON form.
    public var document: FlagValue {
        var members: [String: FlagValue] = ["id": .string(id)]
        if let anonymousID { members["anonymousId"] = .string(anonymousID) }
        if isAuthenticated { members["authenticated"] = true }
        if !attributes.isEmpty { members["attributes"] = .object(attributes.values) }
        if consent != .unknown { members["consent"] = .string(consent.rawValue) }
        return .object(members)
    }
}

extension CatalogItem {
    /// Parses an item from a document's keys.
    public init(reading reader: inout DocumentReader) throws(DocumentError) {
        let id = try reader.name("id")
        let price = try reader.optionalDouble("price")
        self.init(
            id: id,
            kind: try reader.optionalString("kind").map { .init(rawValue: $0) } ?? .product,
            name: try reader.optionalString("name"),
            price: price.flatMap { Decimal(string: String($0)) },
            currency: try reader.optionalString("currency"),
            categories: try reader.strings("categories"),
            attributes: Attributes(try reader.object("attributes"))
        )
    }

    /// The JSON form.
    public var document: FlagValue {
        var members: [String: FlagValue] = ["id": .string(id)]
        if kind != .product { members["kind"] = .string(kind.rawValue) }
        if let name { members["name"] = .string(name) }
        if let price { members["price"] = .double(Double(nearestTo: price)) }
        if let currency { members["currency"] = .string(currency) }
        if !categories.isEmpty { members["categories"] = .array(categories.map { .string($0) }) }
        if !attributes.isEmpty { members["attributes"] = .object(attributes.values) }
        return .object(members)
    }
}
