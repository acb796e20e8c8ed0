/// Plans when decisions are asked for again, and why; pure: time and randomness are parameters.
///
/// All reasons that arise before the next question share that question.
struct OFREPQuestions: Sendable {
    /// The minimum time between two questions.
    private static let spacing = Duration.seconds(1)
    /// The minimum time between two questions for the same reason, if a server could cause it with each answer: by an
    /// address that it refuses, or by new addresses whose streams don't open in time.
    private static let addressSpacing = Duration.seconds(60)
    /// How many questions without an event may follow one another; a server's streams may end again and again.
    private static let mostUnprompted = 10
    /// The mean time between such questions after that.
    private static let unpromptedSpacing = Duration.seconds(30)

    private var next: (at: ContinuousClock.Instant, cause: OFREPCause)?
    private var last: ContinuousClock.Instant?
    /// When the maximum number of questions without an event may follow one another again.
    private var recovery: ContinuousClock.Instant?
    /// Whether the last question has failed for a user.
    private(set) var hasFailed = false
    /// The number of questions in succession that have failed.
    private var failures = 0
    /// The end of the wait that the server asked for, plus a little more so that clients spread out.
    private var pause: ContinuousClock.Instant?
    /// When new addresses were last asked for, unless all streams have opened since.
    private var addresses: ContinuousClock.Instant?
    /// When the last question after a handover is or was due.
    private var handover: ContinuousClock.Instant?

    /// When the next question is due, if one is planned.
    var due: ContinuousClock.Instant? { next?.at }

    /// Plans a question, or joins it to the next one.
    mutating func plan(_ cause: OFREPCause, in delay: Duration = .zero, at now: ContinuousClock.Instant) {
        failures = 0
        schedule(cause, at: now.advanced(by: delay))
    }

    private mutating func schedule(_ cause: OFREPCause, at moment: ContinuousClock.Instant) {
        var earliest = max(moment, last?.advanced(by: Self.spacing) ?? moment, pause ?? moment)
        if cause.event == nil, let recovery {
            earliest = max(earliest, recovery.advanced(by: Self.unpromptedSpacing * (1 - Self.mostUnprompted)))
        }
        next = (min(next?.at ?? earliest, earliest), next?.cause.joined(by: cause) ?? cause)
    }

    /// Returns the cause of the question that is due, if one is.
    mutating func take(at now: ContinuousClock.Instant) -> OFREPCause? {
        guard let next, next.at <= now else { return nil }
        (self.next, last, hasFailed) = (nil, now, false)
        if next.cause.event == nil { recovery = max(recovery ?? now, now).advanced(by: Self.unpromptedSpacing) }
        return next.cause
    }

    /// Plans the question for the addresses of refused streams, unless there was one shortly before.
    mutating func planForAddresses(at now: ContinuousClock.Instant) {
        if let addresses, addresses.duration(to: now) < Self.addressSpacing { return }
        addresses = now
        plan(.renewal, at: now)
    }

    /// Plans the question for what was missed while streams replaced others, later if there was one shortly before.
    mutating func planAfterHandover(in delay: Duration, at now: ContinuousClock.Instant) {
        var moment = now.advanced(by: delay)
        // The last one may have become part of an earlier question, so it is planned again.
        if let handover { moment = handover > now ? handover : max(moment, handover.advanced(by: Self.addressSpacing)) }
        handover = moment
        plan(.gap, in: now.duration(to: moment), at: now)
    }

    /// Records that the last question has failed for a user.
    mutating func noteFailure() { hasFailed = true }

    /// Plans the last question again after it has failed for a user, later each time.
    ///
    /// An answer from before an event or a renewal still counts as such, whatever cause is named now.
    ///
    /// - Parameters:
    ///   - end: The end of the wait that the server asked for, if any.
    ///   - now: The current instant.
    ///   - jitter: A random number in 0...1.
    mutating func planAgain(
        after end: ContinuousClock.Instant?,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) {
        // One question serves all users.
        guard !hasFailed else { return }
        noteFailure()
        failures += 1
        let wait = OFREPConnection.wait(after: failures, jitter: jitter)
        if let end, end > now { pause = end.advanced(by: wait) }
        schedule(.gap, at: now.advanced(by: wait))
    }

    /// Records that all streams are open, so that none needs a new address.
    mutating func noteAllOpen() { addresses = nil }
}
