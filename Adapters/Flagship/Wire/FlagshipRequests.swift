import AdapterKit
import Experimentation
import HTTPTypes

/// Builds the requests of each remote operation: values in, a request and its body out.
struct FlagshipRequests: Sendable {
    /// A request with its body.
    struct Prepared: Sendable {
        var request: HTTPRequest
        var body: [UInt8] = []
    }

    let environmentID: String
    let apiKey: Secret
    let endpoints: FlagshipConfiguration.Endpoints

    /// Requests a visitor's decisions.
    func campaigns(_ question: FlagValue) throws(ExperimentationError) -> Prepared {
        Prepared(
            request: endpoints.decision.request(
                .post,
                path: [environmentID, "campaigns"],
                query: [("exposeAllKeys", "true"), ("extras[]", "accountSettings")],
                headers: try Self.fields(apiKey: apiKey)
            ),
            body: try JSON.encode(question)
        )
    }

    /// Reports exposures, at most as many as one request takes.
    func activate(_ entries: [FlagValue]) throws(ExperimentationError) -> Prepared {
        let body: FlagValue = ["cid": .string(environmentID), "batch": .array(entries)]
        return Prepared(
            request: endpoints.decision.request(.post, path: ["activate"], headers: try Self.fields()),
            body: try JSON.encode(body)
        )
    }

    /// Sends hits, as a batch even if there is only one.
    func hits(_ hits: [FlagValue]) throws(ExperimentationError) -> Prepared {
        let body: FlagValue = [
            "t": "BATCH", "cid": .string(environmentID), "ds": .string(FlagshipWire.dataSource), "h": .array(hits),
        ]
        return Prepared(
            request: endpoints.events.request(.post, path: [], headers: try Self.fields()),
            body: try JSON.encode(body)
        )
    }

    /// Sends a usage or troubleshooting report to the vendor's developers.
    func report(_ report: FlagValue, _ kind: FlagshipReports) throws(ExperimentationError) -> Prepared {
        Prepared(
            request: endpoints.events.request(
                .post,
                path: [kind == .usage ? "analytics" : "troubleshooting"],
                headers: try Self.fields()
            ),
            body: try JSON.encode(report)
        )
    }

    /// Fetches the file of all campaigns, unless it still has this date.
    func bucketingFile(ifModifiedSince date: String?) -> Prepared {
        var headers = HTTPFields()
        if let date { headers[.ifModifiedSince] = date }
        return Prepared(
            request: endpoints.cdn.request(.get, path: [environmentID, "bucketing.json"], headers: headers)
        )
    }

    private static func fields(apiKey: Secret? = nil) throws(ExperimentationError) -> HTTPFields {
        var fields = HTTPFields()
        fields[.accept] = "application/json"
        // The original leaves this to its platform, which then declares a different type than the body's.
        fields[.contentType] = "application/json"
        try fields.set("x-sdk-client", FlagshipWire.sdkClient)
        try fields.set("x-sdk-version", FlagshipWire.sdkVersion)
        if let apiKey { try fields.set("x-api-key", apiKey.reveal()) }
        return fields
    }
}

extension HTTPFields {
    /// Sets a field by its spelling.
    fileprivate mutating func set(_ name: String, _ value: String) throws(ExperimentationError) {
        guard let field = HTTPField.Name(name) else {
            throw ExperimentationError(.configuration, "\"\(name)\" is no name of a header field")
        }
        self[field] = value
    }
}
