import Foundation

/// The moment at which decisions are overdue, told cheaply enough to be asked at every read.
///
/// The continuous clock costs as much as the rest of a read. On Linux the machine's coarse clocks are asked first, which
/// cost a fifth of it: they stand still for some milliseconds at a time, so that they are believed only when they say
/// that the moment is still ahead. The monotonic one doesn't count while the machine sleeps, the one of the day does:
/// as soon as the two have moved apart, only the continuous clock counts. A moment is noticed at most a second late.
final class Expiry: Sendable {
    /// The moment.
    let instant: ContinuousClock.Instant
    private let time: any TimeSource
    private let coarse: CoarseMoment?

    /// Creates an expiry at a moment of a time source.
    init(at instant: ContinuousClock.Instant, by time: any TimeSource) {
        self.instant = instant
        self.time = time
        // Injected time has nothing to do with the machine's clocks.
        coarse = time is SystemTime ? CoarseMoment(in: time.instant.duration(to: instant)) : nil
    }

    /// Whether the moment is over.
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
        /// How far the clock of the day is ahead of the monotonic one, in nanoseconds.
        private let lead: Int64

        /// Creates the moment that comes after a while, or `nil` where there is nothing to be gained.
        ///
        /// - Parameters:
        ///   - duration: How long from now.
        ///   - slept: How long the machine is taken to have slept since, in nanoseconds.
        init?(in duration: Duration, slept: Int64 = 0) {
            let (seconds, attoseconds) = duration.components
            // A century is far enough, and its nanoseconds can be counted.
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
