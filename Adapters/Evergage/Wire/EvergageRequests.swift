import AdapterKit
import Experimentation
import HTTPTypes

/// Builds requests from values; one function for each kind.
struct EvergageRequests: Sendable {
    let endpoint: Endpoint
    let configuration: EvergageConfiguration

    /// Builds the request for an event; the vendor recognises repetitions by its id.
    func event(id: String, _ event: FlagValue) throws(ExperimentationError) -> (request: HTTPRequest, body: [UInt8]) {
        let request = endpoint.request(
            .post,
            path: ["api2", "event", configuration.dataset],
            headers: headers(id: id, [(.contentType, "application/json; charset=utf-8")])
        )
        return (request, try JSON.encode(event))
    }

    /// Builds the request for an item's view time.
    ///
    /// It takes the form of the web beacon's pings.
    func viewTime(
        _ envelope: Envelope,
        _ payload: [String: FlagValue],
        chance: Double
    ) throws(ExperimentationError) -> HTTPRequest {
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
        return endpoint.request(.get, path: ["pr"], query: query, headers: headers(id: envelope.id))
    }

    /// Builds the request for the vendor's settings of this application.
    func remoteConfiguration() -> HTTPRequest {
        endpoint.request(
            .get,
            path: ["mobile", "config", configuration.dataset, "\(configuration.application).json"],
            headers: [.accept: "application/json"]
        )
    }

    private func headers(id: String, _ others: [(HTTPField.Name, String)] = []) -> HTTPFields {
        var fields: HTTPFields = [.accept: "application/json"]
        if let name = HTTPField.Name("X-Event-Id") { fields[name] = id }
        for (name, value) in others { fields[name] = value }
        return fields
    }

    private static func sixDigits(_ chance: Double) -> String {
        let number = Int(exactly: (min(max(chance, 0), 0.999_999) * 1_000_000).rounded(.down)) ?? 0
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}

extension Identity {
    /// The vendor's two ids of a user.
    ///
    /// A user whose only id is the anonymous one has no name yet.
    var evergageIDs: (named: String?, anonymous: String?) {
        let isAnonymous = !isAuthenticated && ExactText(id) == anonymousID.map(ExactText.init)
        return (isAnonymous ? nil : id, anonymousID)
    }
}
