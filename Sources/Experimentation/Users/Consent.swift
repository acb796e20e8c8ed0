/// A user's consent to tracking.
public enum Consent: String, Sendable, Hashable, Codable {
    /// The user hasn't been asked. Events are held where the vendor needs consent, and sent otherwise.
    case unknown
    /// The user has agreed. Held events are sent with their original times.
    case granted
    /// The user has refused. Waiting events are purged, and nothing is sent except the vendor's own consent signal.
    case denied
}
