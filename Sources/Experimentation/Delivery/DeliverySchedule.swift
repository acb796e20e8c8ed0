/// When the next run of deliveries to a destination begins: the pure part of waiting.
///
/// A run is one round after another until nothing is left that may be tried now. What happens is told to the schedule,
/// and ``next(at:)`` says what follows from it. It knows no clock and no task.
struct DeliverySchedule: Equatable {
    typealias Instant = ContinuousClock.Instant

    /// What forbids deliveries until it is taken back.
    enum Hold: Hashable { case offline, disabled, refused, unattended, closed }

    /// What to do.
    enum Next: Equatable { case now, at(Instant), never }

    /// How a run ended.
    enum Ending: Equatable {
        /// Nothing is left that may be delivered.
        case empty
        /// What is left may be tried from a moment on.
        case waits(until: Instant)
        /// There may be more: look again at once.
        case again
        /// The vendor gave no answer, or asked for patience; or the store failed.
        case outage(asked: Duration? = nil)
        /// The vendor refuses everything until the settings are corrected.
        case refused
        /// A hold forbids it.
        case held
    }

    private struct Arrivals: Equatable {
        var count = 0
        /// When the oldest of them has waited long enough.
        var due: Instant?
    }

    private struct Pause: Equatable {
        var end: Instant
        /// Whether the vendor asked for it; then not even a flush goes before.
        var isAsked: Bool
    }

    /// After how many events a run begins.
    let count: Int
    /// How long an event waits for others.
    let interval: Duration

    private(set) var holds: Set<Hold> = []
    private var isForced = false
    private var arrivals = Arrivals()
    /// When something that failed may be tried again.
    private var retry: Instant?
    private var pause: Pause?
    /// How many runs have failed in a row.
    private var failures = 0
    private(set) var refusals = Refusals()

    init(_ policy: BatchPolicy) {
        count = policy.count
        interval = policy.interval
    }

    // MARK: What follows

    /// What to do at a moment.
    func next(at now: Instant) -> Next {
        if holds == [.refused], let probe = refusals.probe { return probe > now ? .at(probe) : .now }
        guard holds.isEmpty else { return .never }
        if let pause, pause.end > now, pause.isAsked || !isForced { return .at(pause.end) }
        if isForced || pause != nil || arrivals.count >= count { return .now }
        guard let first = [retry, arrivals.due].compactMap(\.self).min() else { return .never }
        return first > now ? .at(first) : .now
    }

    /// The moment before which not even a flush may deliver; `nil` if it may now, or if that is unknown.
    func earliest(at now: Instant) -> Instant? {
        guard let pause, pause.isAsked, pause.end > now else { return nil }
        return pause.end
    }

    /// When to try again by oneself after a run that left something; `nil` if nothing is to be waited for.
    var nextAttempt: Instant? { pause?.end ?? retry }

    /// Whether the last run failed.
    var isBackingOff: Bool { failures > 0 }

    // MARK: What happens

    /// Events were accepted that may be delivered.
    mutating func accepted(_ count: Int, at now: Instant) {
        arrivals.count += count
        if arrivals.due == nil { arrivals.due = now.advanced(by: interval) }
    }

    /// A run is wanted now: a flush, or something that may be delivered again.
    mutating func force() { isForced = true }

    /// A run begins.
    mutating func begin() {
        if holds == [.refused] {
            holds = []
            refusals.isProbing = true
        }
        isForced = false
        arrivals = Arrivals()
        retry = nil
        pause = nil
    }

    /// A run ended.
    ///
    /// - Parameters:
    ///   - ending: How.
    ///   - now: The time.
    ///   - jitter: A number from 0 up to 1; asked for only where a wait is drawn.
    mutating func ended(_ ending: Ending, at now: Instant, jitter: @autoclosure () -> Double) {
        switch ending {
        case .empty: failures = 0
        case .again:
            failures = 0
            isForced = true
        case .waits(let moment):
            failures = 0
            retry = moment
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

    /// The vendor has taken something.
    ///
    /// - Returns: Whether it had refused everything before.
    mutating func succeeded() -> Bool {
        defer {
            refusals = Refusals()
            holds.remove(.refused)
        }
        return refusals.count > 0
    }

    /// Forbids deliveries for a reason, or takes it back.
    mutating func set(_ hold: Hold, _ isOn: Bool) {
        if isOn {
            holds.insert(hold)
        } else if holds.remove(hold) != nil, holds.isEmpty {
            failures = 0
            if pause?.isAsked == false { pause = nil }
            isForced = true
        }
    }

    /// The application says that the reason is gone for which the vendor refused everything.
    mutating func resumeAfterRefusal() {
        refusals.forgive()
        set(.refused, false)
    }
}

/// How a vendor that refuses everything is tried again: keys are renewed and contracts mended while applications run.
struct Refusals: Equatable {
    /// How often in a row it has refused.
    private(set) var count = 0
    /// When it is tried again with one event.
    private(set) var probe: ContinuousClock.Instant?
    /// Whether it is being tried with one event.
    var isProbing = false

    /// Notes a refusal.
    mutating func refuse(at now: ContinuousClock.Instant, jitter: Double) {
        count += 1
        isProbing = false
        probe = now.advanced(by: RetrySchedule.probe(afterStops: count, jitter: jitter))
    }

    /// Notes that the reason should be gone.
    ///
    /// That there were refusals is forgotten with the first event that is taken.
    mutating func forgive() {
        count = min(count, 1)
        isProbing = false
        probe = nil
    }
}
