import Foundation

extension EvergageMock {
    /// Answers requests under `/_mock/`: `events`, `users/{key}`, `campaigns`, `keys`, `datasets`, `options`,
    /// `applications`, `faults`.
    public func control(_ request: MockRequest) async -> MockResponse? {
        let segments = request.segments
        switch (request.method, segments.first ?? "") {
        case ("GET", "events"): return .json(EvergageJSON.array(state.received.map(\.json)).description)
        case ("GET", "users"):
            guard segments.count == 2 else { return nil }
            let profile = state.profile(of: segments[1], dataset: request.queryItem("dataset"))
            return .json((profile ?? EvergageProfile()).json.description, status: profile == nil ? 404 : 200)
        case ("PUT", "campaigns"), ("PUT", "keys"), ("PUT", "datasets"), ("PUT", "options"), ("PUT", "applications"),
            ("PUT", "faults"):
            guard let json = EvergageJSON(parsing: request.body) else {
                return .json(#"{"error":"not JSON"}"#, status: 400)
            }
            do {
                try configure(segments[0], json)
                return .json("{}")
            } catch {
                return .json(EvergageJSON.object(["error": .string(error.description)]).description, status: 400)
            }
        default: return nil
        }
    }

    private func configure(_ part: String, _ json: EvergageJSON) throws(MockWorldError) {
        switch part {
        case "campaigns": world.campaigns = try EvergageWorld.campaigns(json)
        case "keys": world.keys = try EvergageWorld.keys(json)
        case "datasets": world.datasets = try EvergageWorld.datasets(json)
        case "options": try world.options.update(json)
        case "applications": world.applications = json.object
        default: faults = try EvergageFault.list(json)
        }
    }

    // MARK: For tests and subjects

    /// The events received, in order.
    public var received: [EvergageReceived] { state.received }

    /// The campaign ids by experience id.
    public var campaignsByExperience: [String: String] {
        Dictionary(world.campaigns.map { ($0.experienceID, $0.campaignID) }, uniquingKeysWith: { first, _ in first })
    }

    /// Turns the "busy" answer on or off.
    public func setBusy(_ busy: Bool) { world.options.busy = busy }

    /// Enables or disables every application, as reported by the remote configuration.
    public func setEnabled(_ enabled: Bool, application: String) {
        world.applications = [application: ["enabled": .bool(enabled)]]
    }
}
