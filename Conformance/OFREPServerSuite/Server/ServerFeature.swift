/// What a server may have or not without breaking the protocol.
public enum ServerFeature: String, Sendable, Hashable, Codable, CaseIterable {
    /// Bulk answers have an `ETag`, and 304 follows from it.
    case entityTags
    /// Bulk answers name an event stream.
    case eventStreams
    /// `X-API-Key` opens it as well.
    case apiKeys
}
