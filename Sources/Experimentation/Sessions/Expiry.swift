import Foundation

/// The moment at which decisions expire, cheap enough to check with every read.
///
/// The continuous clock costs as much as the rest of a read. On Linux the machine's coarse clocks are checked first, at
/// a fifth of the cost. They advance every few milliseconds, so they are trusted only when they say that the moment is
/// still ahead. The monotonic clock doesn't count while the machine sleeps; the wall clock does: once the two have
/// drifted apart, only the continuous clock counts. Expiry is noticed at most a second late.
final class Expiry: Sendable {
    /// The moment.
    let instant: ContinuousClock.Instant
    private let time: any TimeSource
    private let coarse: CoarseMoment?

    /// Creates an expiry at a moment of a time source.
    init(at instant: ContinuousClock.Instant, by time: any TimeSource) {
        self.instant = instant
        self.time = time
        // An injected time source is unrelated to the machine's clocks.
        coarse = time is SystemTime ? CoarseMoment(in: time.instant.duration(to: instant)) : nil
    }

    /// Creates the expiry of something made at a moment; `nil` if it doesn't expire.
    convenience init?(of freshness: Freshness, madeAt instant: ContinuousClock.Instant, by time: any TimeSource) {
        guard let lifetime = freshness.lifetime, lifetime > .zero else { return nil }
        self.init(at: instant.advanced(by: lifetime), by: time)
    }

    /// When to look whether the moment has passed, if it hasn't.
    ///
    /// Not at once, because expiry is noticed late, and within a day, because not every clock can wait for a thousand
    /// years.
    var nextLook: ContinuousClock.Instant {
        let now = time.instant
        let rest = now.duration(to: instant) + .nanoseconds(1)
        return now.advanced(by: min(max(rest, .milliseconds(20)), .seconds(86_400)))
    }

    /// Whether the moment has passed.
    var hasPassed: Bool {
        if let coarse, coarse.isSurelyAhead { return false }
        return time.instant > instant
    }
}

/// A moment by the machine's coarse clocks.
struct CoarseMoment: Sendable {
    #if os(Linux)
        private static let tolerance: Int64 = 1_000_000_000

        /// Nanoseconds of the monotonic clock at the moment.
        private let monotonic: Int64
        /// How far the wall clock is ahead of the monotonic one, in nanoseconds.
        private let lead: Int64

        /// Creates a moment after a duration, or `nil` where this gains nothing.
        ///
        /// - Parameters:
        ///   - duration: The time from now.
        ///   - slept: How long the machine is assumed to have slept since, in nanoseconds.
        init?(in duration: Duration, slept: Int64 = 0) {
            let (seconds, attoseconds) = duration.components
            // A century is long enough, and its nanoseconds don't overflow.
            let whole = min(max(seconds, 0), 3_155_760_000) * 1_000_000_000
            let now = Self.read(CLOCK_MONOTONIC_COARSE)
            monotonic = now + whole + (seconds < 0 ? 0 : attoseconds / 1_000_000_000)
            lead = Self.read(CLOCK_REALTIME_COARSE) - now - slept
        }

        /// Whether both clocks agree that the moment is still to come.
        var isSurelyAhead: Bool {
            let now = Self.read(CLOCK_MONOTONIC_COARSE)
            guard now < monotonic else { return false }
            return abs(Self.read(CLOCK_REALTIME_COARSE) - now - lead) < Self.tolerance
        }

        @inline(__always)
        private static func read(_ clock: clockid_t) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }
    #else
        init?(in duration: Duration) { nil }
        var isSurelyAhead: Bool { false }
    #endif
}
