import Foundation

/// A small Evergage: the Event API in its four forms, both namespaces, the authenticated route, the receivers for view
/// time and for statistics, a mirrored cart, orders that count once, and campaigns that answer events.
///
/// `EvergageWorld` documents its world. `/_mock/users/{key}` returns what it knows of a user, `/_mock/events` what it
/// received.
public actor EvergageMock: MockVendor {
    /// The vendor's name.
    public static let name = "evergage"

    /// What the SDK compresses with, under each of its names.
    public static let contentEncodings: Set<String> = ["gzip", "x-gzip", "deflate"]

    var world: EvergageWorld
    var state = EvergageState()
    var faults: [EvergageFault] = []
    private let now: @Sendable () -> Double

    /// Creates a vendor with two data sets, one pair of keys and nothing else.
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

    /// The request's event as text; if there is none, the request as received.
    public nonisolated func legible(_ request: MockRequest) -> String {
        (try? EvergageDecoding.event(of: request))?.description
            ?? FormEncoding.percentDecoded(request.query ?? "") + request.text
    }

    /// The base address.
    public nonisolated func endpoints(at base: String) -> [String: String] { ["base": base] }

    /// The account and a data set, under the names of an application's configuration.
    ///
    /// The keys of the authenticated route belong to servers, not to applications: the world holds them.
    public nonisolated var credentials: [String: String] { ["account": "acme", "dataset": "engage"] }

    /// Forgets events, users and orders; keeps the world.
    public func reset() {
        state = EvergageState()
        faults = []
    }

    /// Replaces the world and resets the state.
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
        // Statistics refer to campaigns and never trigger any.
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

    func failure(_ status: Int) -> MockResponse {
        .json(#"{"campaignResponses":[],"errorCode":5}"#, status: status)
    }

    private func takeFault(for request: MockRequest) -> EvergageFault? {
        guard let index = faults.firstIndex(where: { request.path.hasPrefix($0.match) }) else { return nil }
        let fault = faults[index]
        faults[index].times -= 1
        if faults[index].times <= 0 { faults.remove(at: index) }
        return fault
    }
}
