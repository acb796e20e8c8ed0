extension FlagshipMock {
    /// Answers a request for campaigns, one campaign, flags, or the recording of a context.
    func decide(_ request: MockRequest, operation: String) -> MockResponse {
        guard request.header("x-api-key") == apiKey else {
            return Self.failure("Forbidden", status: 403)
        }
        let segments = request.segments
        // The self-hosted server's paths are the same without the environment.
        let isHosted = segments.count > 2 && segments[1] != "campaigns"
        if isHosted, segments[1] != environmentID {
            return Self.failure("Environment \(segments[1]) not found")
        }
        let visitor: FlagshipMockVisitor
        do {
            visitor = try FlagshipMockVisitor(request.body, isStrict: isStrict, makeID: makeID)
        } catch {
            return Self.failure(error.description)
        }
        if operation == "context" {
            record(visitor)
            return MockResponse(status: 204)
        }
        if isPanicking || file.panic {
            return .json(
                MockJSON.object([
                    "visitorId": .string(visitor.id), "campaigns": .array([]), "panic": .bool(true),
                ]).text
            )
        }
        if visitor.hasConsented, request.queryItem("sendContextEvent") != "false" { record(visitor) }
        return answer(request, operation: operation, visitor: visitor)
    }

    private func answer(_ request: MockRequest, operation: String, visitor: FlagshipMockVisitor) -> MockResponse {
        let exposingAllKeys = request.queryItem("exposeAllKeys") == "true"
        let decision = FlagshipMockDecision(file: file, rules: rules, remembers: remembers)
        if operation == "campaign" {
            guard let name = request.segments.last,
                let campaign = file.campaigns.first(where: { $0.id == name || $0.slug.string == name })
            else { return Self.failure("The campaign \(request.segments.last ?? "") was not found") }
            let results = decision.results(for: visitor, memory: &memory).filter { $0.campaign.id == campaign.id }
            trigger(results, for: visitor, by: request)
            guard let result = results.first else { return MockResponse(status: 204) }
            return .json(result.json(exposingAllKeys: exposingAllKeys).text)
        }
        let results = decision.results(for: visitor, memory: &memory)
        trigger(results, for: visitor, by: request)
        if operation == "flags" {
            var flags: [String: MockJSON] = [:]
            for result in results {
                for (key, value) in result.flags(exposingAllKeys: exposingAllKeys) {
                    flags[key] = .object(["value": value, "metadata": result.metadata])
                }
            }
            return .json(MockJSON.object(flags).text)
        }
        var members: [String: MockJSON] = ["visitorId": .string(visitor.id)]
        let mode = request.queryItem("mode") ?? "normal"
        let campaigns = MockJSON.array(results.map { $0.json(exposingAllKeys: exposingAllKeys) })
        if mode != "simple" { members["campaigns"] = campaigns }
        if mode == "simple" || mode == "full" {
            members["campaignsVariation"] = .array(
                results.map {
                    .object(["campaignId": .string($0.campaign.id), "variationId": .string($0.variation.id)])
                }
            )
            var merged: [String: MockJSON] = [:]
            for result in results {
                merged.merge(result.flags(exposingAllKeys: exposingAllKeys)) { $1 }
            }
            members["mergedModifications"] = .object(merged)
        }
        let extras = request.queryItems.filter { $0.name == "extras" || $0.name == "extras[]" }
        if extras.contains(where: { $0.value == "accountSettings" }) {
            var settings = file.settings.object ?? [:]
            settings["@type"] = .string("type.googleapis.com/flagship.protobuf.AccountSettings")
            for name in ["enabledXPC", "enabled1V1T"] where settings[name] == nil { settings[name] = .bool(false) }
            if settings["troubleshooting"] == nil { settings["troubleshooting"] = .null }
            members["extras"] = .object(["accountSettings": .object(settings)])
        }
        return .json(MockJSON.object(members).text)
    }

    /// Records an exposure of every given campaign, as the vendor does unless the request forbids it.
    private func trigger(
        _ results: [FlagshipMockResult],
        for visitor: FlagshipMockVisitor,
        by request: MockRequest
    ) {
        guard visitor.triggersHits else { return }
        for result in results {
            let activation = FlagshipMockActivation(
                visitor: visitor.id,
                anonymous: visitor.anonymousID,
                group: result.group.id,
                variation: result.variation.id,
                queueTime: nil,
                request: requests
            )
            activations.append(activation)
            taken.append(FlagshipMockTaken(activation: activation, body: request.body))
            memory[visitor.id][result.group.id]?.isActivated = true
        }
    }

    private func record(_ visitor: FlagshipMockVisitor) {
        visits.append(
            .object([
                "visitorId": .string(visitor.id),
                "anonymousId": visitor.anonymousID.map { .string($0) } ?? .null,
                "context": .object(visitor.context),
            ])
        )
    }

    private func makeID() -> String {
        made += 1
        return "generated-\(made)"
    }
}
