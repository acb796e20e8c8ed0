import Experimentation
import HTTPTypes

/// How often a request is tried, and after what.
///
/// For reads. Deliveries aren't retried here: an event that wasn't taken goes back to the outbox.
public struct HTTPRetry: Sendable, Hashable {
    /// How many attempts there are, the first included; at least one is made.
    public var attempts: Int
    /// How long to wait in between, unless the server asks for longer.
    public var backoff: Backoff
    /// How long one attempt may take; `nil` for as long as the whole call.
    public var attemptLimit: Duration?
    /// The statuses after which another attempt makes sense.
    public var statuses: Set<Int>

    /// Creates a policy.
    public init(
        attempts: Int = 3,
        backoff: Backoff = Backoff(),
        attemptLimit: Duration? = nil,
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) {
        self.attempts = attempts
        self.backoff = backoff
        self.attemptLimit = attemptLimit
        self.statuses = statuses
    }

    /// One attempt and no more.
    public static let none = HTTPRetry(attempts: 1)

    /// Whether another attempt could end differently.
    public func allows(_ error: ExperimentationError) -> Bool { error.code == .transport || error.code == .timeout }
}
