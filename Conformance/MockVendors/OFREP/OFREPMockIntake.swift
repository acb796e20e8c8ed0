import Foundation

/// The events that a server takes outside the protocol: each id once, by `docs/schemas/gateway-events.schema.json`.
struct OFREPMockIntake: Sendable {
    /// The maximum number of events in a request.
    static let most = 1_000
    private static let types: Set<String> = [
        "custom", "screenView", "goalCompleted", "goalAbandoned", "pageView", "viewItem", "viewItemDetail",
        "viewCategory", "viewTag", "addToCart", "removeFromCart", "replaceCart", "purchase", "review", "share",
        "comment", "favorite", "installed", "sessionStarted", "sessionEnded", "notificationReceived",
        "notificationOpened", "campaignImpression", "campaignDismissal", "campaignClick", "exposure", "consentChanged",
    ]

    private var known: Set<String> = []
    /// The accepted events, in order, each with the number of its request.
    private(set) var accepted: [(event: MockJSON, request: Int)] = []
    private var requests = 0

    /// Answers a request.
    mutating func answer(_ request: MockRequest) -> MockResponse {
        requests += 1
        guard case .object(let body)? = MockJSON.parse(request.body) else {
            return Self.refusal(400, "PARSE_ERROR", "The body: expected an event, or an object with \"events\".")
        }
        var events = [MockJSON.object(body)]
        if let list = body["events"] {
            guard case .array(let values) = list, body.count == 1 else {
                return Self.refusal(400, "PARSE_ERROR", "events: expected a list, and nothing beside it.")
            }
            events = values
        }
        guard events.count <= Self.most else {
            return Self.refusal(413, "PARSE_ERROR", "events: expected at most \(Self.most).")
        }
        var counts = ["accepted": 0, "repeated": 0, "refused": 0]
        let outcomes = events.map { event in
            let outcome = take(event)
            counts[outcome["status"]?.string ?? "", default: 0] += 1
            return MockJSON.object(outcome)
        }
        var answer = counts.mapValues { MockJSON.int($0) }
        answer["events"] = .array(outcomes)
        return OFREPMock.json(MockJSON.object(answer).bytes)
    }

    /// Returns what was accepted, and forgets it; the ids stay known.
    mutating func take() -> [(event: MockJSON, request: Int)] {
        defer { accepted = [] }
        return accepted
    }

    private mutating func take(_ event: MockJSON) -> [String: MockJSON] {
        let id = event["id"]?.string
        var outcome: [String: MockJSON] = id.map { ["id": .string($0)] } ?? [:]
        if let fault = Self.fault(of: event) {
            outcome["status"] = "refused"
            outcome["errorCode"] = "INVALID_ARGUMENT"
            outcome["errorDetails"] = .string(fault)
            return outcome
        }
        let isNew = known.insert(id ?? "").inserted
        if isNew { accepted.append((event, requests)) }
        outcome["status"] = isNew ? "accepted" : "repeated"
        return outcome
    }

    private static func fault(of event: MockJSON) -> String? {
        guard let members = event.object else { return "expected an object" }
        if let other = members.keys.sorted().first(where: { !["id", "user", "event", "at"].contains($0) }) {
            return "\(other): isn't known"
        }
        guard let id = members["id"]?.string, !id.isEmpty, id.utf8.count <= 200 else {
            return "id: expected a text of at most 200 bytes"
        }
        guard let user = members["user"]?.object, user["id"]?.string?.isEmpty == false else {
            return "user: expected an object with an \"id\""
        }
        let allowed = ["id", "anonymousId", "authenticated", "attributes", "consent"]
        if let other = user.keys.sorted().first(where: { !allowed.contains($0) }) {
            return "user.\(other): isn't known"
        }
        guard let type = members["event"]?.object?["type"]?.string else {
            return "event: expected an object with a \"type\""
        }
        guard types.contains(type) else { return "event.type: \"\(type)\" isn't known" }
        if let at = members["at"] {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let text = at.string, (try? Date(text, strategy: style)) != nil else {
                return "at: expected a time as \"2026-11-21T10:00:00.000Z\""
            }
        }
        return nil
    }

    private static func refusal(_ status: Int, _ code: String, _ details: String) -> MockResponse {
        var answer = OFREPMock.json(
            MockJSON.object(["errorCode": .string(code), "errorDetails": .string(details)]).bytes
        )
        answer.status = status
        return answer
    }
}
