import AdapterKit
import Experimentation
import HTTPTypes

/// Builds the requests of each remote operation; one function for each.
struct FlagshipRequests: Sendable {
    let configuration: FlagshipConfiguration

    private var environmentID: String { configuration.environmentID }
    private var endpoints: FlagshipConfiguration.Endpoints { configuration.endpoints }

    func campaigns(_ question: FlagValue) throws(ExperimentationError) -> HTTPMessage {
        endpoints.decision.post(
            json: try JSON.encode(question),
            path: [environmentID, "campaigns"],
            query: [("exposeAllKeys", "true"), ("extras[]", "accountSettings")],
            headers: try Self.fields(apiKey: configuration.apiKey)
        )
    }

    /// Reports exposures, at most as many as one request takes.
    func activate(_ entries: [FlagValue]) throws(ExperimentationError) -> HTTPMessage {
        let body: FlagValue = ["cid": .string(environmentID), "batch": .array(entries)]
        return endpoints.decision.post(json: try JSON.encode(body), path: ["activate"], headers: try Self.fields())
    }

    /// Sends hits, as a batch even if there is only one.
    func hits(_ hits: [FlagValue]) throws(ExperimentationError) -> HTTPMessage {
        let body: FlagValue = [
            "t": "BATCH", "cid": .string(environmentID), "ds": .string(FlagshipWire.dataSource), "h": .array(hits),
        ]
        return endpoints.events.post(json: try JSON.encode(body), path: [], headers: try Self.fields())
    }

    func report(_ report: FlagValue, _ kind: FlagshipReports) throws(ExperimentationError) -> HTTPMessage {
        endpoints.events.post(
            json: try JSON.encode(report),
            path: [kind == .usage ? "analytics" : "troubleshooting"],
            headers: try Self.fields()
        )
    }

    /// Fetches the file of all campaigns, unless the file still has this date.
    func bucketingFile(ifModifiedSince date: String?) -> HTTPMessage {
        var headers = HTTPFields()
        if let date { headers[.ifModifiedSince] = date }
        return HTTPMessage(endpoints.cdn.request(.get, path: [environmentID, "bucketing.json"], headers: headers))
    }

    /// The vendor's own fields.
    ///
    /// The original leaves the body's content type to its platform, which then declares another one.
    private static func fields(apiKey: Secret? = nil) throws(ExperimentationError) -> HTTPFields {
        var fields = HTTPFields()
        try fields.put(FlagshipWire.sdkClient, named: "x-sdk-client")
        try fields.put(FlagshipWire.sdkVersion, named: "x-sdk-version")
        if let apiKey { try fields.put(apiKey.reveal(), named: "x-api-key") }
        return fields
    }
}
