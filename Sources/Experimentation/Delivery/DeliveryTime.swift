import Foundation

/// One moment on both clocks, to convert times of one to the other.
struct Moment {
    let date: Date
    let instant: ContinuousClock.Instant

    init(_ time: any TimeSource) {
        date = time.now
        instant = time.instant
    }

    /// When a date occurs if the clock isn't set; at most the longest wait away.
    func instant(of date: Date) -> ContinuousClock.Instant {
        let wait = min(max(date.timeIntervalSince(self.date), 0.001), RetrySchedule.longest.seconds)
        return instant.advanced(by: .seconds(wait))
    }

    /// The date at an instant; setting the clock in between doesn't affect waits.
    func date(at instant: ContinuousClock.Instant) -> Date { date + self.instant.duration(to: instant).seconds }
}

/// The time of day as far as it can be trusted: at most the start plus the time elapsed, so that a clock set ahead
/// doesn't make events old.
struct CautiousClock: Sendable {
    private let time: any TimeSource
    private let began: (date: Date, instant: ContinuousClock.Instant)

    init(_ time: any TimeSource) {
        self.time = time
        began = (time.now, time.instant)
    }

    var now: Date { min(time.now, began.date + began.instant.duration(to: time.instant).seconds) }
}
