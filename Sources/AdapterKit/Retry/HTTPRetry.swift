import Experimentation
import HTTPTypes

/// How often a request is tried, and after which failures.
///
/// For reads. Deliveries aren't retried here: an event that wasn't delivered returns to the outbox.
public struct HTTPRetry: Sendable, Hashable {
    /// The number of attempts, including the first; at least one is made.
    public var attempts: Int
    /// How long to wait between attempts, unless the server asks for longer.
    public var backoff: Backoff
    /// The time limit of one attempt; `nil` for the limit of the whole call.
    public var attemptLimit: Duration?
    /// The statuses after which to retry.
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

    /// A single attempt.
    public static let none = HTTPRetry(attempts: 1)

    /// Whether a retry could succeed after this error.
    public func allows(_ error: ExperimentationError) -> Bool { error.code == .transport || error.code == .timeout }
}
