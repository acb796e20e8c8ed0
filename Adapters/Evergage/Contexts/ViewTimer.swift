import Experimentation

/// Measures how long something is viewed, and decides when to report it: pure, with times passed in.
///
/// Time runs only between a start and a stop. It is reported when a portion is full (a minute, unless the vendor says
/// less), when something else is viewed, and when time stops; never more than a portion at once, and less than two
/// seconds only together with what follows.
struct ViewTimer: Sendable {
    /// The viewed item, as named in pings.
    struct Subject: Sendable, Hashable {
        var type: String
        var id: ExactText
        var action: String
    }

    private(set) var subject: Subject?
    private(set) var isRunning = false
    /// Up to when time is taken into account.
    private var latest: ContinuousClock.Instant?
    private var accrued: Duration = .zero

    /// The longest time reported at once.
    var longest: Duration = .seconds(60)
    /// The shortest time reported on its own.
    static let shortest: Duration = .seconds(2)

    /// When the next portion will be full, if nothing changes until then.
    var nextPing: ContinuousClock.Instant? { counts ? latest?.advanced(by: longest - accrued) : nil }

    private var counts: Bool { isRunning && subject != nil }

    /// Starts or stops time.
    mutating func run(_ isRunning: Bool, at now: ContinuousClock.Instant) -> [EvergagePing] {
        guard isRunning != self.isRunning else { return [] }
        let pings = advance(to: now)
        self.isRunning = isRunning
        return isRunning ? pings : pings + tell()
    }

    /// Begins to view something else, or the same again, or nothing.
    mutating func view(_ subject: Subject?, at now: ContinuousClock.Instant) -> [EvergagePing] {
        let pings = advance(to: now) + tell()
        if subject != self.subject { accrued = .zero }
        self.subject = subject
        return pings
    }

    /// Takes the elapsed time into account, and reports full portions.
    mutating func advance(to now: ContinuousClock.Instant) -> [EvergagePing] {
        let since = latest ?? now
        latest = max(since, now)
        if counts, since < now { accrued += since.duration(to: now) }
        var pings: [EvergagePing] = []
        while accrued >= longest, let ping = ping(longest) {
            pings.append(ping)
            accrued -= longest
        }
        return pings
    }

    /// Reports the time so far, without what is too short to be reported on its own; the view continues.
    mutating func conclude(at now: ContinuousClock.Instant) -> [EvergagePing] {
        let pings = advance(to: now) + tell()
        accrued = .zero
        return pings
    }

    /// Discards unreported time; the view continues.
    mutating func discard(at now: ContinuousClock.Instant) {
        accrued = .zero
        latest = now
    }

    private mutating func tell() -> [EvergagePing] {
        guard accrued >= Self.shortest, let ping = ping(accrued) else { return [] }
        accrued = .zero
        return [ping]
    }

    private func ping(_ time: Duration) -> EvergagePing? {
        subject.map { EvergagePing(subject: $0, milliseconds: Int(time / .milliseconds(1))) }
    }
}

/// The view time of an item, carried as an event that only this vendor has.
struct EvergagePing: Sendable, Hashable {
    var subject: ViewTimer.Subject
    var milliseconds: Int

    /// The event.
    var event: TrackingEvent {
        TrackingEvent(
            .native(
                NativeEvent(
                    type: EvergageTranslation.Native.viewTime,
                    payload: [
                        "type": .string(subject.type), "id": .string(subject.id.text),
                        "action": .string(subject.action), "milliseconds": .int(milliseconds),
                    ],
                    carriesAttributeChanges: false
                )
            )
        )
    }
}

/// Whether the application is in the foreground and in use: pure, with times passed in.
struct Attention: Sendable {
    private(set) var isForeground = true
    private(set) var isUserActive = true
    private var lastTouch: ContinuousClock.Instant

    init(at now: ContinuousClock.Instant) { lastTouch = now }

    /// Whether the user is there to see something.
    var isThere: Bool { isForeground && isUserActive }

    /// Returns when the user will count as idle without a touch; `nil` once they do.
    func idleMoment(after limit: Duration) -> ContinuousClock.Instant? {
        isUserActive ? lastTouch.advanced(by: limit) : nil
    }

    /// Records a touch.
    mutating func touch(at now: ContinuousClock.Instant) {
        lastTouch = now
        isUserActive = true
    }

    /// Records that there was no touch for too long.
    mutating func grewIdle() { isUserActive = false }

    /// Records that the application entered the foreground, which counts as a touch, or left it.
    mutating func move(toForeground: Bool, at now: ContinuousClock.Instant) {
        isForeground = toForeground
        if toForeground { touch(at: now) }
    }
}
