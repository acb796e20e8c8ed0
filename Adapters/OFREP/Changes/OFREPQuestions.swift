/// Plans when decisions are asked for again, and why; pure: time and randomness are parameters.
///
/// All reasons until the next question are one question.
struct OFREPQuestions: Sendable {
    /// The minimum time between two questions.
    private static let spacing = Duration.seconds(1)
    /// How long after an answer no other question for new addresses is asked, unless all streams have opened meanwhile.
    private static let addressSpacing = Duration.seconds(60)

    /// The question for the addresses of refused streams.
    private struct ForAddresses: Sendable {
        /// When it was answered; `nil` while it is planned or under way.
        var answered: ContinuousClock.Instant?
        var failures = 0
    }

    private var next: (at: ContinuousClock.Instant, cause: OFREPCause)?
    private var last: ContinuousClock.Instant?
    /// The last question for new addresses, unless all streams have opened since.
    private var forAddresses: ForAddresses?

    /// When the next question is due, if one is planned.
    var due: ContinuousClock.Instant? { next?.at }

    /// Plans a question, or joins it to the next one.
    mutating func plan(_ cause: OFREPCause, in delay: Duration = .zero, at now: ContinuousClock.Instant) {
        let earliest = max(now.advanced(by: delay), last?.advanced(by: Self.spacing) ?? now)
        next = (min(next?.at ?? earliest, earliest), next?.cause.joined(by: cause) ?? cause)
    }

    /// Returns the cause of the question that is due, if one is.
    mutating func take(at now: ContinuousClock.Instant) -> OFREPCause? {
        guard let next, next.at <= now else { return nil }
        (self.next, last) = (nil, now)
        return next.cause
    }

    /// Plans the question for new addresses, unless the last one is still to be answered.
    ///
    /// - Returns: Whether an answer will come; not if there was one shortly before.
    mutating func planForAddresses(at now: ContinuousClock.Instant) -> Bool {
        if let forAddresses {
            guard let answered = forAddresses.answered else { return true }
            guard answered.duration(to: now) >= Self.addressSpacing else { return false }
        }
        forAddresses = ForAddresses()
        plan(.renewal, at: now)
        return true
    }

    /// Plans the question for new addresses again after one has failed, later each time.
    ///
    /// - Parameters:
    ///   - evenIfAnswered: Whether the answer, if there was one, was for other users alone.
    ///   - now: The current instant.
    ///   - jitter: A random number in 0...1.
    mutating func planAgainForAddresses(evenIfAnswered: Bool, at now: ContinuousClock.Instant, jitter: Double) {
        // What is planned already is one question for all users.
        guard var question = forAddresses, next?.cause.isRenewal != true, evenIfAnswered || question.answered == nil
        else { return }
        question.answered = nil
        question.failures += 1
        forAddresses = question
        plan(.renewal, in: OFREPConnection.wait(after: question.failures, jitter: jitter), at: now)
    }

    /// Records an answer.
    mutating func noteAnswer(at now: ContinuousClock.Instant) {
        // Before the question for addresses is asked, it is the answer to an earlier one.
        guard next?.cause.isRenewal != true, forAddresses?.answered == nil else { return }
        forAddresses?.answered = now
    }

    /// Records that all streams are open, so that none needs a new address.
    mutating func noteAllOpen() { forAddresses = nil }
}
