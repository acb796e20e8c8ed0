import Foundation

/// A small Evergage: the Event API in its four forms, both namespaces, the authenticated route, the receivers for view
/// time and for statistics, a mirrored cart, orders that count once, and campaigns that answer events.
///
/// The world that it holds is documented at `EvergageWorld`; what it knows of each user is under `/_mock/users/{key}`,
/// what it received under `/_mock/events`.
public actor EvergageMock: MockVendor {
    /// The vendor's name.
    public static let name = "evergage"

    private var world: EvergageWorld
    private var state = EvergageState()
    private var faults: [EvergageFault] = []
    private let now: @Sendable () -> Double

    /// Creates a vendor with nothing in it but two data sets and one pair of keys.
    ///
    /// - Parameter now: The server's clock, in milliseconds since 1970.
    public init(now: @escaping @Sendable () -> Double = { Date.now.timeIntervalSince1970 * 1000 }) {
        world = EvergageWorld()
        self.now = now
    }

    /// Names an operation: `event`, `authevent`, `ping`, `stats`, `config` or `unknown`.
    public nonisolated func operation(of request: MockRequest) -> String {
        Route(request)?.operation ?? "unknown"
    }

    /// The event within; what isn't one as it came.
    public nonisolated func legible(_ request: MockRequest) -> String {
        (try? EvergageDecoding.event(of: request))?.description
            ?? FormEncoding.percentDecoded(request.query ?? "") + request.text
    }

    /// The one base address.
    public nonisolated func endpoints(at base: String) -> [String: String] { ["base": base] }

    /// The account and a data set, under the names of an application's configuration.
    ///
    /// The keys of the authenticated route are no application's: they stand in the world.
    public nonisolated var credentials: [String: String] { ["account": "acme", "dataset": "engage"] }

    /// Forgets events, users and orders; the world stays.
    public func reset() {
        state = EvergageState()
        faults = []
    }

    /// Replaces the world and forgets what came before.
    public func load(_ world: Data) async throws(MockWorldError) {
        guard let json = EvergageJSON(parsing: world) else { throw MockWorldError("the world: not JSON") }
        self.world = try EvergageWorld(json)
        reset()
    }

    /// Answers a request as the vendor would.
    public func respond(to request: MockRequest) async -> MockResponse {
        guard let route = Route(request) else { return failure(404) }
        guard route.methods.contains(request.method) else {
            var response = failure(405)
            response.headers.append(.init("Allow", route.methods.joined(separator: ", ")))
            return response
        }
        if let fault = takeFault(for: request) {
            if fault.delayMillis > 0 { try? await Task.sleep(for: .milliseconds(fault.delayMillis)) }
            if let response = fault.response { return response }
        }
        switch route {
        case .event(let dataset): return event(request, dataset: dataset, authenticated: false)
        case .authevent(let dataset):
            if let refusal = authenticationFailure(request) { return refusal }
            return event(request, dataset: dataset, authenticated: true)
        case .ping: return ping(request)
        case .stats: return stats(request)
        case .config(let dataset, let application): return config(dataset: dataset, application: application)
        }
    }

    // MARK: Events

    private func event(_ request: MockRequest, dataset: String, authenticated: Bool) -> MockResponse {
        guard world.datasets.contains(dataset) else { return failure(404) }
        let json: EvergageJSON
        do {
            json = try EvergageDecoding.event(of: request)
        } catch {
            return failure(error == .tooLarge ? 413 : 400)
        }
        if world.options.busy { return answer(errorCode: 3) }
        let id = request.header("X-Event-Id")
        let isRepetition = id.map { state.isProcessed($0) } ?? false
        state.log(json, request: request, dataset: dataset, authenticated: authenticated, isRepetition: isRepetition)
        if isRepetition { return answer() }
        let event: EvergageEvent
        do {
            event = try EvergageEvent(json)
        } catch {
            state.refuseLast()
            return answer(errorCode: error.errorCode)
        }
        if world.options.strictItems, !event.hasWhatItsActionNeeds {
            state.refuseLast()
            return answer(errorCode: EvergageEvent.Invalid.event.errorCode)
        }
        if world.options.encryptedIds, event.json["user"]?["id"]?.text != nil, event.encryptedID == nil {
            state.refuseLast()
            return answer(errorCode: EvergageEvent.Invalid.noEncryptedID.errorCode)
        }
        if let id { state.setProcessed(id) }
        if event.flag("doNotTrack") { return answer() }
        let key = state.apply(
            event,
            dataset: dataset,
            defaultCurrency: world.options.defaultCurrency,
            declared: world.declared,
            receivedAt: now()
        )
        var members: [String: EvergageJSON] = [:]
        if event.namedID != nil {
            let entity = String(EvergageCampaign.crc32("\(dataset)/\(key)".utf8), radix: 16)
            if world.options.pipelineIdentity {
                members["resolvedUserId"] = .string(entity)
            } else {
                members["persistedUserId"] = [
                    "entityId": .string(entity),
                    "accountId": event.json["account"]?["id"]?.text.map(EvergageJSON.string) ?? "",
                ]
            }
        }
        let isServer = event.channel.lowercased() == "server"
        let chosen = campaigns(for: event, authenticated: authenticated)
        if authenticated, event.wantsExplanations {
            members["campaignExplanations"] = .array(
                world.campaigns.map { campaign in
                    .object([
                        "campaignId": .string(campaign.campaignID),
                        "qualified": .bool(chosen.contains(campaign)),
                    ])
                }
            )
            members["eventDetails"] = ["userKey": .string(key)]
        }
        let withMessages = isServer || !world.options.strictChannels
        let responses =
            authenticated && !isServer
            ? [] : chosen.map { $0.response(userKey: key, withMessages: withMessages) }
        return answer(responses, members: members)
    }

    private func campaigns(for event: EvergageEvent, authenticated: Bool) -> [EvergageCampaign] {
        // Statistics are about campaigns and never bring any.
        if event.flag("noCampaigns") || (event.action == nil && event.itemAction == nil) { return [] }
        let mayForce = authenticated || !world.options.strictTestAuth
        let options = world.options
        return world.campaigns.filter {
            $0.answers(
                event,
                isAuthenticated: authenticated,
                mayForce: mayForce,
                channelIfNone: options.strictChannels ? "Server" : nil
            )
        }
    }

    private func authenticationFailure(_ request: MockRequest) -> MockResponse? {
        var refusal = failure(401)
        refusal.headers.append(.init("WWW-Authenticate", "Basic realm=\"evergage\""))
        let parts = request.header("Authorization")?.split(separator: " ", maxSplits: 1) ?? []
        guard parts.count == 2, parts[0].lowercased() == "basic", let data = Data(base64Encoded: String(parts[1]))
        else {
            return refusal
        }
        let pair = String(decoding: data, as: UTF8.self)
        guard let key = world.keys.first(where: { "\($0.key):\($0.secret)" == pair }) else { return refusal }
        return key.canSendEvents ? nil : failure(403)
    }

    // MARK: Receivers

    private func ping(_ request: MockRequest) -> MockResponse {
        let parameters = EvergageDecoding.parameters(of: request)
        let item = (parameters["item"] ?? parameters[".item"]).flatMap { EvergageJSON(parsing: $0.utf8) }
        guard let dataset = parameters["_ds"], world.datasets.contains(dataset), parameters["_ak"]?.isEmpty == false,
            let millis = parameters[".top"].flatMap(Int.init), (1...60_000).contains(millis),
            let type = item?["type"]?.text, let id = item?["_id"]?.text
        else { return .json(#"{"status":"Error"}"#) }
        let repetition = request.header("X-Event-Id").map { state.isProcessed($0) } ?? false
        state.log(
            .object(parameters.mapValues(EvergageJSON.string)),
            request: request,
            dataset: dataset,
            authenticated: false,
            isRepetition: repetition
        )
        if repetition { return .json(#"{"status":"OK"}"#) }
        request.header("X-Event-Id").map { state.setProcessed($0) }
        let taken = state.addViewTime(
            millis,
            item: "\(EvergageState.fullType(type))/\(id)",
            named: parameters["userId"],
            anonymous: parameters[".anonId"],
            dataset: dataset
        )
        if !taken { state.refuseLast() }
        return .json(taken ? #"{"status":"OK"}"# : #"{"status":"Error"}"#)
    }

    private func stats(_ request: MockRequest) -> MockResponse {
        let parameters = EvergageDecoding.parameters(of: request)
        if let dataset = parameters["_ds"], world.datasets.contains(dataset),
            let list = parameters[".cStat"].flatMap({ EvergageJSON(parsing: $0.utf8) })?.array
        {
            state.log(
                .object(parameters.mapValues(EvergageJSON.string)),
                request: request,
                dataset: dataset,
                authenticated: false,
                isRepetition: false
            )
            state.addStats(
                list.compactMap { EvergageEvent.Stat(receiver: $0) },
                named: parameters["userId"],
                anonymous: parameters[".anonId"],
                dataset: dataset
            )
        }
        return MockResponse(status: 200)
    }

    private func config(dataset: String, application: String) -> MockResponse {
        guard world.datasets.contains(dataset) else { return failure(404) }
        guard let applications = world.applications else { return .json(#"{"enabled":true}"#) }
        guard let settings = applications[application] else { return failure(404) }
        return .json(settings.description)
    }

    // MARK: Answers

    private func answer(
        _ campaigns: [EvergageJSON] = [],
        errorCode: Int = 0,
        members: [String: EvergageJSON] = [:]
    ) -> MockResponse {
        var body = members
        body["campaignResponses"] = .array(campaigns)
        body["errorCode"] = EvergageJSON(errorCode)
        return .json(EvergageJSON.object(body).description)
    }

    private func failure(_ status: Int) -> MockResponse {
        .json(#"{"campaignResponses":[],"errorCode":5}"#, status: status)
    }

    private func takeFault(for request: MockRequest) -> EvergageFault? {
        guard let index = faults.firstIndex(where: { request.path.hasPrefix($0.match) }) else { return nil }
        let fault = faults[index]
        faults[index].times -= 1
        if faults[index].times <= 0 { faults.remove(at: index) }
        return fault
    }

    // MARK: The control plane

    /// Answers under `/_mock/`: `events`, `users/{key}`, `campaigns`, `keys`, `datasets`, `options`, `applications`,
    /// `faults`.
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

    /// What was received, in order.
    public var received: [EvergageReceived] { state.received }

    /// The campaigns' ids by their experience's.
    public var campaignsByExperience: [String: String] {
        Dictionary(world.campaigns.map { ($0.experienceID, $0.campaignID) }, uniquingKeysWith: { first, _ in first })
    }

    /// Switches the answer "busy" on or off.
    public func setBusy(_ busy: Bool) { world.options.busy = busy }

    /// Enables or disables every application, as the remote configuration tells it.
    public func setEnabled(_ enabled: Bool, application: String) {
        world.applications = [application: ["enabled": .bool(enabled)]]
    }
}

// MARK: - Routes

extension EvergageMock {
    private enum Route {
        case event(String), authevent(String), ping, stats
        case config(String, String)

        init?(_ request: MockRequest) {
            let segments = request.segments
            switch (segments.count, segments.first) {
            case (3, "api2") where segments[1] == "event": self = .event(segments[2])
            case (3, "api2") where segments[1] == "authevent": self = .authevent(segments[2])
            case (1, "pr"): self = .ping
            case (1, "msreceiver"): self = .stats
            case (4, "mobile") where segments[1] == "config" && segments[3].hasSuffix(".json"):
                self = .config(segments[2], String(segments[3].dropLast(5)))
            default: return nil
            }
        }

        var operation: String {
            switch self {
            case .event: "event"
            case .authevent: "authevent"
            case .ping: "ping"
            case .stats: "stats"
            case .config: "config"
            }
        }

        var methods: [String] {
            switch self {
            case .event, .ping, .stats: ["GET", "POST"]
            case .authevent: ["POST"]
            case .config: ["GET"]
            }
        }
    }
}
