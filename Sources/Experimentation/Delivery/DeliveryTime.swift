import Foundation

/// A moment by both clocks, to turn times of the one into times of the other.
struct Moment {
    let date: Date
    let instant: ContinuousClock.Instant

    init(_ time: any TimeSource) {
        date = time.now
        instant = time.instant
    }

    /// When a date comes, if the clock isn't set; no later than the longest wait.
    func instant(of date: Date) -> ContinuousClock.Instant {
        let wait = min(max(date.timeIntervalSince(self.date), 0.001), RetrySchedule.longest.seconds)
        return instant.advanced(by: .seconds(wait))
    }

    /// What time it is at an instant: a clock that is set in between must not show in a wait.
    func date(at instant: ContinuousClock.Instant) -> Date { date + self.instant.duration(to: instant).seconds }
}

/// The time of day as far as it can be trusted: no later than what has passed since the beginning, so that a clock that is
/// set ahead doesn't make events old.
struct CautiousClock: Sendable {
    private let time: any TimeSource
    private let began: (date: Date, instant: ContinuousClock.Instant)

    init(_ time: any TimeSource) {
        self.time = time
        began = (time.now, time.instant)
    }

    var now: Date { min(time.now, began.date + began.instant.duration(to: time.instant).seconds) }
}
