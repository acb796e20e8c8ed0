/// A vendor's cached answers to one context.
struct RecalledAnswer: Sendable {
    /// The result of a request.
    enum Recall: Sendable {
        /// A current answer.
        case fresh(HeldDecisions)
        /// An older one, and whether it is this request's turn to have a newer one fetched.
        case stale(HeldDecisions, isDue: Bool)
        /// A recent failure.
        case failed(ExperimentationError)
        /// Nothing: the vendor has to be asked.
        case nothing
    }

    /// The context; `nil` if it can't be distinguished from others.
    let digest: ContextDigest?
    /// The user's attributes in it.
    let attributes: Attributes
    /// The last good answer.
    private(set) var held: HeldDecisions?
    private var failure: (error: ExperimentationError, instant: ContinuousClock.Instant)?
    private var isRefreshing = false

    init(_ digest: ContextDigest?, _ attributes: Attributes, _ held: HeldDecisions? = nil) {
        (self.digest, self.attributes, self.held) = (digest, attributes, held)
    }

    /// Returns the result of a request now.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - policy: How long answers and failures are used.
    ///   - changes: The number of changes that the vendor has announced. An answer from before the last change is used
    ///     only while there can be no newer one.
    /// - Returns: What a request gets.
    mutating func recall(at now: ContinuousClock.Instant, by policy: AnswerReuse, after changes: Int) -> Recall {
        let isFailing = failure.map { now < $0.instant.advanced(by: policy.failures) } ?? false
        if let held {
            let age = held.instant.duration(to: now)
            let isOutdated = held.changes < changes
            if held.standing == .good, age <= policy.lifetime, !isOutdated { return .fresh(held) }
            if held.afterExpiry == .stale, age <= policy.lifetime + policy.grace, isFailing || !isOutdated {
                let isDue = !isFailing && !isRefreshing
                if isDue { isRefreshing = true }
                var old = held
                old.isStale = true
                return .stale(old, isDue: isDue)
            }
        }
        if isFailing, let failure { return .failed(failure.error) }
        return .nothing
    }

    /// Notes that there was no answer.
    mutating func fail(_ error: ExperimentationError, at now: ContinuousClock.Instant) {
        isRefreshing = false
        held?.isStale = true
        failure = (error, now)
    }

    /// Notes that the due answer isn't fetched after all.
    mutating func giveUp() { isRefreshing = false }
}
