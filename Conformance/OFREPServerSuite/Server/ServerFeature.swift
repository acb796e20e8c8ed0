/// An optional feature of the protocol.
public enum ServerFeature: String, Sendable, Hashable, Codable, CaseIterable {
    /// Bulk answers have an `ETag`, and the server answers 304.
    case entityTags
    /// Bulk answers offer an event stream.
    case eventStreams
    /// The server also accepts the token in `X-API-Key`.
    case apiKeys
}
