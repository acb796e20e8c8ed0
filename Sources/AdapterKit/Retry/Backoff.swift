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
        let longest = max(longest, .zero)
        var limit = min(max(first, .zero), longest)
        // Thirty doublings are plenty; a wait of zero never reaches the limit.
        for _ in 0..<min(max(retry - 1, 0), 30) { limit += min(limit, longest - limit) }
        // The product with one may be rounded up beyond what a duration holds.
        guard jitter.isFinite, jitter < 1 else { return limit }
        return limit * max(jitter, 0)
    }
}
