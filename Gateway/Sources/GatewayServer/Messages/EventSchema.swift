import HTTPTypes

/// The schemas of the bodies that `/v1/events` takes, as in `docs/schemas`.
enum EventSchema: Sendable, Equatable {
    /// One event or several, each with an id and a user.
    case events
    /// The definitions of events and users, to which the other schema refers by name.
    case event

    /// The folder under which they are served.
    static let folder = "/v1/schemas/"

    /// The path.
    var path: String {
        switch self {
        case .events: "\(Self.folder)gateway-events.schema.json"
        case .event: "\(Self.folder)event.schema.json"
        }
    }

    /// The answer to a request for the schema.
    var answer: Answer {
        let bytes =
            switch self {
            case .events: PackageResources.gateway_events_schema_json
            case .event: PackageResources.event_schema_json
            }
        return .bytes(.ok, bytes, type: "application/schema+json", [.cacheControl: "public, max-age=3600"])
    }
}
