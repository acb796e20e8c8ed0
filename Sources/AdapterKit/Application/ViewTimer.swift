/// Measures how long something is viewed, and decides when to report it: pure, with times passed in.
///
/// Time runs only between a start and a stop. It is reported in portions: when one is full, when something else is
/// viewed, and when time stops. What is too short to be reported on its own is reported together with what follows.
package struct ViewTimer<Subject: Hashable & Sendable>: Sendable {
    /// A time to report, and what was viewed.
    package struct Portion: Sendable, Hashable {
        /// What was viewed.
        package var subject: Subject
        /// How long.
        package var time: Duration
    }

    /// The longest time reported at once.
    package var longest: Duration
    /// The shortest time reported on its own.
    private let shortest: Duration

    private var subject: Subject?
    private var isRunning = false
    /// The moment up to which time has been taken into account.
    private var latest: ContinuousClock.Instant?
    private var accrued: Duration = .zero

    /// Creates a timer that is stopped.
    ///
    /// - Parameter portions: The shortest and the longest time that is reported at once.
    package init(portions: ClosedRange<Duration>) {
        shortest = portions.lowerBound
        longest = portions.upperBound
    }

    /// When the next portion will be full, if nothing changes until then.
    package var nextPortion: ContinuousClock.Instant? { counts ? latest?.advanced(by: longest - accrued) : nil }

    private var counts: Bool { isRunning && subject != nil }

    /// Starts or stops time.
    package mutating func run(_ isRunning: Bool, at now: ContinuousClock.Instant) -> [Portion] {
        guard isRunning != self.isRunning else { return [] }
        let portions = advance(to: now)
        self.isRunning = isRunning
        return isRunning ? portions : portions + rest()
    }

    /// Begins a view of something else, of the same subject again, or of nothing.
    package mutating func view(_ subject: Subject?, at now: ContinuousClock.Instant) -> [Portion] {
        let portions = advance(to: now) + rest()
        if subject != self.subject { accrued = .zero }
        self.subject = subject
        return portions
    }

    /// Takes the elapsed time into account, and reports full portions.
    package mutating func advance(to now: ContinuousClock.Instant) -> [Portion] {
        let since = latest ?? now
        latest = max(since, now)
        if counts, since < now { accrued += since.duration(to: now) }
        var portions: [Portion] = []
        while accrued >= longest, let subject {
            portions.append(Portion(subject: subject, time: longest))
            accrued -= longest
        }
        return portions
    }

    /// Reports the time so far, without what is too short to be reported on its own; the view continues.
    package mutating func conclude(at now: ContinuousClock.Instant) -> [Portion] {
        let portions = advance(to: now) + rest()
        accrued = .zero
        return portions
    }

    /// Discards unreported time; the view continues.
    package mutating func discard(at now: ContinuousClock.Instant) {
        accrued = .zero
        latest = now
    }

    private mutating func rest() -> [Portion] {
        guard accrued >= shortest, let subject else { return [] }
        defer { accrued = .zero }
        return [Portion(subject: subject, time: accrued)]
    }
}
