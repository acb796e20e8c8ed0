/// How long to wait before each further attempt.
///
/// The limit doubles with each attempt, and the wait is drawn at random from zero up to it ("full jitter"), so that clients
/// which failed together don't come back together.
public struct Backoff: Sendable, Hashable {
    /// The limit before the second attempt.
    public var first: Duration
    /// What the limit never exceeds.
    public var longest: Duration

    /// Creates a back-off.
    public init(first: Duration = .milliseconds(500), longest: Duration = .seconds(60)) {
        self.first = first
        self.longest = longest
    }

    /// Returns the wait before a further attempt.
    ///
    /// - Parameters:
    ///   - retry: Which further attempt, counting from 1.
    ///   - jitter: A number from 0 up to 1, anew for each call.
    /// - Returns: The wait, from zero up to the limit.
    public func delay(before retry: Int, jitter: Double) -> Duration {
        // Doubling more often than this would overflow, long after the limit has been reached.
        let doublings = min(max(retry - 1, 0), 30)
        let limit = max(.zero, min(first * (1 << doublings), longest))
        return limit * (jitter.isFinite ? min(max(jitter, 0), 1) : 1)
    }
}
