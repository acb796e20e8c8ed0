/// When the next run of deliveries to a destination begins: the pure part of waiting.
///
/// A run is one round after another until the store has nothing left that may be tried now; events that it accepts
/// afterwards wait for others. The schedule is told what happens, and ``next(at:)`` returns what follows. It uses no
/// clock and no task.
struct DeliverySchedule: Equatable {
    typealias Instant = ContinuousClock.Instant

    /// Reasons that forbid deliveries until they are lifted.
    struct Holds: OptionSet {
        let rawValue: UInt8
        static let offline = Holds(rawValue: 1)
        static let disabled = Holds(rawValue: 2)
        static let refused = Holds(rawValue: 4)
        static let unattended = Holds(rawValue: 8)
        static let closed = Holds(rawValue: 16)
    }

    /// What to do next.
    enum Next: Equatable { case now, at(Instant), never }

    /// How a run ended.
    enum Ending: Equatable {
        /// Nothing deliverable is left.
        case empty
        /// The remaining events may be tried from this time on.
        case waits(until: Instant)
        /// Another process holds the lane; check again at this time, or at once for a flush.
        case busy(until: Instant)
        /// There may be more: check again at once.
        case again
        /// The vendor gave no answer, or asked for patience; or the store failed.
        case outage(asked: Duration? = nil)
        /// The vendor refuses everything until the settings are corrected.
        case refused
        /// A hold forbids it.
        case held

        /// Nothing that may be tried now is left; something may wait for its time.
        static func nothing(until moment: Instant?) -> Ending { moment.map { .waits(until: $0) } ?? .empty }
    }

    private struct Arrivals: Equatable {
        var count = 0
        /// When the oldest of them has waited long enough.
        var due: Instant?
    }

    private struct Pause: Equatable {
        var end: Instant
        /// Whether the vendor asked for the pause, so that not even a flush may ignore it.
        var isAsked: Bool
    }

    /// The number of events that starts a run.
    let count: Int
    /// How long an event waits for others.
    let interval: Duration

    private(set) var holds: Holds = []
    private var isForced = false
    private var arrivals = Arrivals()
    /// When a failed event may be tried again.
    private var retry: Instant?
    /// Whether another process held the lane last time.
    private var isBusy = false
    private var pause: Pause?
    /// The number of consecutive runs that failed.
    private var failures = 0
    private(set) var refusals = Refusals()

    init(_ policy: BatchPolicy) {
        count = max(1, policy.count)
        interval = policy.interval
    }

    // MARK: Queries

    /// What to do at a given moment.
    func next(at now: Instant) -> Next {
        if holds == [.refused], let probe = refusals.probe { return probe > now ? .at(probe) : .now }
        guard holds.isEmpty else { return .never }
        if let pause, pause.end > now, pause.isAsked || !isForced { return .at(pause.end) }
        if isForced || pause != nil || arrivals.count >= count { return .now }
        guard let first = [retry, arrivals.due].compactMap(\.self).min() else { return .never }
        return first > now ? .at(first) : .now
    }

    /// When a flush may try again after a run that left something; `nil` if there is nothing to wait for.
    func nextAttempt(at now: Instant) -> Instant? { isBusy ? now : pause?.end ?? retry }

    /// Whether the last run failed.
    var isBackingOff: Bool { failures > 0 }

    // MARK: Events

    /// Notes that deliverable events were accepted.
    mutating func accepted(_ count: Int, at now: Instant) {
        arrivals.count += count
        if arrivals.due == nil { arrivals.due = now.advanced(by: interval) }
    }

    /// Requests a run now: for a flush, or for events that have become deliverable.
    mutating func force() { isForced = true }

    /// Requests a run for a flush.
    ///
    /// - Returns: Whether it begins now: no hold, and no wait that the vendor asked for, forbids it.
    mutating func flush(at now: Instant) -> Bool {
        force()
        return next(at: now) == .now
    }

    /// Notes that a run begins.
    mutating func begin() {
        if holds == [.refused] {
            holds = []
            refusals.isProbing = true
        }
        isForced = false
        arrivals = Arrivals()
        retry = nil
        isBusy = false
        pause = nil
    }

    /// Notes that a run ended.
    ///
    /// - Parameters:
    ///   - ending: How it ended.
    ///   - now: The time.
    ///   - jitter: A number from 0 up to, but not including, 1; evaluated only to draw a wait.
    mutating func ended(_ ending: Ending, at now: Instant, jitter: @autoclosure () -> Double) {
        switch ending {
        case .empty: failures = 0
        case .again:
            failures = 0
            isForced = true
        case .waits(let moment):
            failures = 0
            retry = moment
        case .busy(let moment):
            failures = 0
            retry = moment
            isBusy = true
        case .outage(let asked):
            failures += 1
            let wait = asked ?? RetrySchedule.wait(beforeAttempt: failures, jitter: jitter())
            pause = Pause(end: now.advanced(by: wait), isAsked: asked != nil)
        case .refused:
            holds.insert(.refused)
            refusals.refuse(at: now, jitter: jitter())
        case .held: isForced = true
        }
    }

    /// Notes that the vendor has taken something.
    ///
    /// - Returns: Whether it had refused everything before.
    mutating func succeeded() -> Bool {
        defer {
            refusals = Refusals()
            holds.remove(.refused)
        }
        return refusals.count > 0
    }

    /// Sets or lifts a hold on deliveries.
    mutating func set(_ hold: Holds, _ isOn: Bool) {
        if isOn {
            holds.insert(hold)
        } else if holds.remove(hold) != nil, holds.isEmpty {
            failures = 0
            if pause?.isAsked == false { pause = nil }
            isForced = true
        }
    }

    /// Notes that the application reports the cause of the vendor's refusals as gone.
    mutating func resumeAfterRefusal() {
        refusals.forgive()
        set(.refused, false)
    }
}

/// When to probe a vendor that refuses everything: keys are renewed and contracts fixed while applications run.
struct Refusals: Equatable {
    /// The number of consecutive refusals.
    private(set) var count = 0
    /// When to try a single event.
    private(set) var probe: ContinuousClock.Instant?
    /// Whether a single event is being tried.
    var isProbing = false

    /// Notes a refusal.
    mutating func refuse(at now: ContinuousClock.Instant, jitter: Double) {
        count += 1
        isProbing = false
        probe = now.advanced(by: RetrySchedule.probe(afterStops: count, jitter: jitter))
    }

    /// Notes that the cause should be gone.
    ///
    /// The refusals are forgotten once the first event is taken.
    mutating func forgive() {
        count = min(count, 1)
        isProbing = false
        probe = nil
    }
}
