import AdapterKit
import Experimentation
import HTTPTypes

/// Builds requests from values; one function for each kind.
struct EvergageRequests: Sendable {
    let configuration: EvergageConfiguration
    private var endpoint: Endpoint { configuration.endpoint }

    /// Builds the request for an event; the vendor recognizes repetitions by the event's id.
    func event(id: String, _ event: FlagValue) throws(ExperimentationError) -> HTTPMessage {
        var headers = try Self.headers(id: id)
        headers[.contentType] = "application/json; charset=utf-8"
        return endpoint.post(
            json: try JSON.encode(event),
            path: ["api2", "event", configuration.dataset],
            headers: headers
        )
    }

    /// Builds the request for an item's view time.
    ///
    /// It takes the form of the web beacon's pings.
    func viewTime(
        _ envelope: Envelope,
        _ payload: [String: FlagValue],
        chance: Double
    ) throws(ExperimentationError) -> HTTPMessage {
        let ids = envelope.identity.evergageIDs
        let item: FlagValue = ["type": payload["type"] ?? "", "_id": payload["id"] ?? ""]
        var query: [(String, String)] = [
            ("_ak", configuration.account),
            ("_ds", configuration.dataset),
            (".top", String(payload["milliseconds"]?.intValue ?? 0)),
            ("action", payload["action"]?.stringValue ?? ""),
            ("item", String(decoding: try JSON.encode(item), as: UTF8.self)),
            ("channel", configuration.channel),
            ("_r", Self.sixDigits(chance)),
        ]
        if let time = envelope.date.epochMilliseconds { query.append(("_time", String(time))) }
        if let anonymous = ids.anonymous { query.append((".anonId", anonymous)) }
        if let named = ids.named { query.append(("userId", named)) } else { query.append(("_anon", "true")) }
        let headers = try Self.headers(id: envelope.id)
        return HTTPMessage(endpoint.request(.get, path: ["pr"], query: query, headers: headers))
    }

    /// Builds the request for the vendor's settings of this application.
    func remoteConfiguration() -> HTTPMessage {
        let path = ["mobile", "config", configuration.dataset, "\(configuration.application).json"]
        return HTTPMessage(endpoint.request(.get, path: path, headers: [.accept: "application/json"]))
    }

    private static func headers(id: String) throws(ExperimentationError) -> HTTPFields {
        var fields: HTTPFields = [.accept: "application/json"]
        // Ids that the sender chose may contain what a header field can't.
        try fields.put(PercentEncoding.encode(id), named: "X-Event-Id")
        return fields
    }

    private static func sixDigits(_ chance: Double) -> String {
        String(String(1_000_000 + Int(clamping: chance * 1_000_000, to: 0...999_999)).dropFirst())
    }
}

extension Identity {
    /// The vendor's two ids of a user.
    ///
    /// A user whose only id is the anonymous one isn't named yet.
    var evergageIDs: (named: String?, anonymous: String?) {
        let isAnonymous = !isAuthenticated && ExactText(id) == anonymousID.map(ExactText.init)
        return (isAnonymous ? nil : id, anonymousID)
    }
}
