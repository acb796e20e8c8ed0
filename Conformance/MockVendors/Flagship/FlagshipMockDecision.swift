/// A visitor's request for campaigns, in either spelling of the fields.
struct FlagshipMockVisitor: Sendable {
    var id: String
    var anonymousID: String?
    var context: [String: MockJSON]
    var hasConsented: Bool
    var triggersHits: Bool
    var decisionGroup: String?

    private static let spellings: [String: String] = [
        "visitorId": "visitor_id", "visitor_id": "visitor_id",
        "anonymousId": "anonymous_id", "anonymous_id": "anonymous_id",
        "triggerHit": "trigger_hit", "trigger_hit": "trigger_hit", "activate": "trigger_hit",
        "visitorConsent": "visitor_consent", "visitor_consent": "visitor_consent",
        "decisionGroup": "decision_group", "decision_group": "decision_group",
        "clientId": "client_id", "client_id": "client_id",
        "campaignId": "campaign_id", "campaign_id": "campaign_id",
        "formatResponse": "format_response", "format_response": "format_response",
        "defaultRedirectUrl": "default_redirect_url", "default_redirect_url": "default_redirect_url",
        "customVisitorId": "custom_visitor_id", "custom_visitor_id": "custom_visitor_id",
        "context": "context",
    ]

    /// Parses the body of a request for campaigns.
    ///
    /// - Parameters:
    ///   - body: The body, regardless of its content type.
    ///   - isStrict: Whether unknown fields are rejected.
    ///   - makeID: Generates the id of a visitor who has none.
    /// - Throws: The message of the vendor's `400`.
    init(_ body: [UInt8], isStrict: Bool, makeID: () -> String) throws(MockWorldError) {
        guard let members = MockJSON.parse(body)?.object else {
            throw MockWorldError("the request body is not a JSON object")
        }
        var fields: [String: MockJSON] = [:]
        for name in members.keys.sorted() {
            guard let field = Self.spellings[name], let value = members[name] else {
                if isStrict { throw MockWorldError("unknown field \"\(name)\"") }
                continue
            }
            // `activate` is an alternative to the trigger field, which takes precedence.
            if name == "activate", members["trigger_hit"] != nil || members["triggerHit"] != nil { continue }
            if isStrict, fields[field] != nil { throw MockWorldError("duplicate field \"\(name)\"") }
            fields[field] = value
        }
        fields = fields.filter { !$0.value.isNull }
        func text(_ name: String) throws(MockWorldError) -> String? {
            guard let value = fields[name] else { return nil }
            guard let string = value.string else {
                throw MockWorldError("invalid value for string type: \(value.text)")
            }
            return string
        }
        func flag(_ name: String, default missing: Bool) throws(MockWorldError) -> Bool {
            guard let value = fields[name] else { return missing }
            guard let bool = value.bool else { throw MockWorldError("invalid value for bool type: \(value.text)") }
            return bool
        }
        if let context = fields["context"], context.object == nil {
            throw MockWorldError("invalid value for map type: \(context.text)")
        }
        let id = try text("visitor_id") ?? ""
        self.id = id.isEmpty ? makeID() : id
        anonymousID = try text("anonymous_id").flatMap { $0.isEmpty ? nil : $0 }
        context = fields["context"]?.object ?? [:]
        hasConsented = try flag("visitor_consent", default: true)
        triggersHits = try flag("trigger_hit", default: true)
        decisionGroup = try text("decision_group").flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A campaign with the variation that a visitor gets.
struct FlagshipMockResult: Sendable {
    var campaign: FlagshipMockFile.Campaign
    var group: FlagshipMockFile.Group
    var variation: FlagshipMockFile.Variation
}

/// Evaluates all campaigns for a visitor as the Decision API does.
struct FlagshipMockDecision {
    var file: FlagshipMockFile
    var rules: FlagshipMockRules
    var remembers: Bool

    /// Decides, and records the decisions.
    func results(for visitor: FlagshipMockVisitor, memory: inout FlagshipMockMemory) -> [FlagshipMockResult] {
        switch rules {
        case .server: server(visitor, memory: &memory)
        case .sdk: sdk(visitor)
        }
    }

    private func server(_ visitor: FlagshipMockVisitor, memory: inout FlagshipMockMemory) -> [FlagshipMockResult] {
        var places = remembers ? memory[visitor.id] : [:]
        let before = visitor.anonymousID.flatMap { remembers && file.keepsExperience ? memory[$0] : nil } ?? [:]
        let tests = Set(file.campaigns.filter { $0.type == "ab" }.flatMap { $0.groups.map(\.id) })
        let seen = Set(
            places.merging(before) { mine, _ in mine }
                .filter { $1.isActivated && tests.contains($0) }.keys
        )
        var hasTest = false
        var ids: Set<String> = []
        var results: [FlagshipMockResult] = []
        for campaign in file.campaigns {
            guard ids.insert(campaign.id).inserted,
                FlagshipMockAllocation.isOpen(campaign, to: visitor.id),
                let group = campaign.groups.first(where: {
                    FlagshipMockTargeting.server($0, visitorID: visitor.id, context: visitor.context)
                })
            else { continue }
            let isExclusive = file.isOneTestPerVisitor && campaign.type == "ab"
            if isExclusive, seen.isEmpty ? hasTest : !seen.contains(group.id) { continue }
            guard let variation = variation(of: group, for: visitor, places: places, before: before) else { continue }
            places[group.id] =
                places[group.id] ?? before[group.id] ?? FlagshipMockPlace(variation: variation.id, isActivated: false)
            hasTest = hasTest || isExclusive
            results.append(FlagshipMockResult(campaign: campaign, group: group, variation: variation))
        }
        if remembers { memory[visitor.id] = places }
        return results
    }

    private func variation(
        of group: FlagshipMockFile.Group,
        for visitor: FlagshipMockVisitor,
        places: [String: FlagshipMockPlace],
        before: [String: FlagshipMockPlace]
    ) -> FlagshipMockFile.Variation? {
        if let place = places[group.id] ?? before[group.id] {
            // A remembered variation that no longer exists removes its campaign from the answer.
            return group.variations.first { $0.id == place.variation }
        }
        return FlagshipMockAllocation.variation(of: group, for: visitor.decisionGroup ?? visitor.id)
    }

    private func sdk(_ visitor: FlagshipMockVisitor) -> [FlagshipMockResult] {
        file.campaigns.compactMap { campaign in
            for group in campaign.groups
            where FlagshipMockTargeting.sdk(group, visitorID: visitor.id, context: visitor.context) {
                if let variation = FlagshipMockAllocation.variation(of: group, for: visitor.id) {
                    return FlagshipMockResult(campaign: campaign, group: group, variation: variation)
                }
            }
            return nil
        }
    }
}

extension FlagshipMockResult {
    /// The flags, with or without those that only other variations of the group define.
    func flags(exposingAllKeys: Bool) -> [String: MockJSON] {
        guard exposingAllKeys else { return variation.flags.filter { !$1.isNull } }
        var flags = variation.flags
        for sibling in group.variations {
            for key in sibling.flags.keys where flags[key] == nil { flags[key] = .null }
        }
        return flags
    }

    /// The campaign as it appears in the answer.
    func json(exposingAllKeys: Bool) -> MockJSON {
        .object([
            "id": .string(campaign.id), "name": .string(campaign.name), "slug": campaign.slug,
            "type": .string(campaign.type), "variationGroupId": .string(group.id),
            "variationGroupName": .string(group.name),
            "variation": .object([
                "id": .string(variation.id), "name": .string(variation.name),
                "reference": .bool(variation.isReference),
                "modifications": .object([
                    "type": variation.type, "value": .object(flags(exposingAllKeys: exposingAllKeys)),
                ]),
            ]),
        ])
    }

    /// The origin of each flag, for the answer by flag.
    var metadata: MockJSON {
        .object([
            "campaignId": .string(campaign.id), "campaignName": .string(campaign.name), "slug": campaign.slug,
            "type": .string(campaign.type), "variationGroupId": .string(group.id),
            "variationGroupName": .string(group.name), "variationId": .string(variation.id),
            "variationName": .string(variation.name), "reference": .bool(variation.isReference),
        ])
    }
}
