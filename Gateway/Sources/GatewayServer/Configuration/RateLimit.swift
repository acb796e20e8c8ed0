/// A tenant's rate limit: a token bucket that fills at a steady rate.
public struct RateLimit: Sendable, Hashable {
    /// The sustained number of requests per second.
    public var perSecond: Double
    /// The maximum number of requests at once.
    public var burst: Double

    /// Creates a limit.
    public init(perSecond: Double, burst: Double) {
        self.perSecond = perSecond
        self.burst = burst
    }
}
