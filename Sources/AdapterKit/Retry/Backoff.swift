/// How long to wait before each retry.
///
/// The limit doubles with each attempt, and the wait is drawn at random between zero and the limit ("full jitter"), so
/// that clients that failed together don't return together.
public struct Backoff: Sendable, Hashable {
    /// The limit before the first retry.
    public var first: Duration
    /// The highest limit.
    public var longest: Duration

    /// Creates a back-off.
    public init(first: Duration = .milliseconds(500), longest: Duration = .seconds(60)) {
        self.first = first
        self.longest = longest
    }

    /// Returns the wait before a retry.
    ///
    /// - Parameters:
    ///   - retry: The number of the retry, from 1.
    ///   - jitter: A number from 0 up to, but not including, 1, new for each call.
    /// - Returns: The wait, from zero to the limit.
    public func delay(before retry: Int, jitter: Double) -> Duration {
        // More doublings would overflow, long after the limit has been reached.
        let doublings = min(max(retry - 1, 0), 30)
        let limit = max(.zero, min(first * (1 << doublings), longest))
        return limit * (jitter.isFinite ? min(max(jitter, 0), 1) : 1)
    }
}
