import Synchronization

/// How many requests a tenant may make: a bucket that fills at a steady rate.
public struct RateLimit: Sendable, Hashable {
    /// How many a second in the long run.
    public var perSecond: Double
    /// How many at once.
    public var burst: Double

    /// Creates a limit.
    public init(perSecond: Double, burst: Double) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

/// The bucket of one tenant.
final class RateLimiter: Sendable {
    private let limit: RateLimit
    private let state: Mutex<(level: Double, instant: ContinuousClock.Instant)>

    init(_ limit: RateLimit, now: ContinuousClock.Instant) {
        self.limit = limit
        state = Mutex((limit.burst, now))
    }

    /// Takes one request out of the bucket.
    ///
    /// - Returns: `nil` if there was one; else in how many whole seconds there will be.
    func take(at now: ContinuousClock.Instant) -> Int? {
        state.withLock { state in
            let passed = max(0, state.instant.duration(to: now) / .seconds(1))
            state.level = min(limit.burst, state.level + passed * limit.perSecond)
            state.instant = max(state.instant, now)
            guard state.level < 1 else {
                state.level -= 1
                return nil
            }
            return max(1, Int(((1 - state.level) / limit.perSecond).rounded(.up)))
        }
    }
}
