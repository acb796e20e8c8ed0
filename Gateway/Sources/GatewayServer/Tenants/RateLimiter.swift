import Synchronization

/// A tenant's token bucket.
final class RateLimiter: Sendable {
    /// The longest wait that an answer asks for: a day, in seconds.
    private static let longestWait = 86_400.0

    private let limit: RateLimit
    private let state: Mutex<(level: Double, instant: ContinuousClock.Instant)>

    init(_ limit: RateLimit, now: ContinuousClock.Instant) {
        self.limit = limit
        state = Mutex((limit.burst, now))
    }

    /// Takes one request out of the bucket.
    ///
    /// - Returns: `nil` on success; otherwise the wait in whole seconds.
    func take(at now: ContinuousClock.Instant) -> Int? {
        state.withLock { state in
            let passed = max(0, state.instant.duration(to: now) / .seconds(1))
            state.level = min(limit.burst, state.level + passed * limit.perSecond)
            state.instant = max(state.instant, now)
            guard state.level < 1 else {
                state.level -= 1
                return nil
            }
            let wait = ((1 - state.level) / limit.perSecond).rounded(.up)
            // Compared as a floating-point number, because not every wait fits into an integer.
            return wait < Self.longestWait ? max(1, Int(wait)) : Int(Self.longestWait)
        }
    }

    /// Puts a request that wasn't answered back into the bucket.
    func giveBack() { state.withLock { $0.level = min(limit.burst, $0.level + 1) } }
}
