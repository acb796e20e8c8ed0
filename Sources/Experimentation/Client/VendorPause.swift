/// Decides whether to ask a vendor that has just failed or is disabled.
///
/// After several consecutive failures, requests pause. Then one request is sent, and the others wait for another
/// pause.
struct VendorPause: Sendable {
    /// What a request has to do.
    enum Word: Sendable, Equatable {
        /// Ask the vendor.
        case ask
        /// Use the vendor's last answer.
        case failed(ExperimentationError)
        case disabled
    }

    /// The outcome of a request.
    enum Outcome: Sendable {
        case decided
        case disabled
        case failed(ExperimentationError)
    }

    /// The number of consecutive failures that begin a pause: a single request may fail for its own reasons.
    static let most = 3

    /// How long a pause lasts.
    let length: Duration
    private var failures = 0
    private var pause: (word: Word, end: ContinuousClock.Instant)?

    /// Creates the state of a vendor that hasn't been asked.
    init(length: Duration) { self.length = length }

    /// What a request has to do now.
    mutating func word(at now: ContinuousClock.Instant) -> Word {
        guard let pause else { return .ask }
        guard now >= pause.end else { return pause.word }
        self.pause = (pause.word, now.advanced(by: length))
        return .ask
    }

    /// Records the outcome of a request.
    mutating func note(_ outcome: Outcome, at now: ContinuousClock.Instant) {
        switch outcome {
        case .decided:
            failures = 0
            pause = nil
        case .disabled: pause = (.disabled, now.advanced(by: length))
        case .failed(let error):
            guard error.code.isOutage else { return }
            failures += 1
            if failures >= Self.most || pause != nil { pause = (.failed(error), now.advanced(by: length)) }
        }
    }
}

extension ErrorCode {
    /// Whether the vendor or the connection failed, rather than this request alone.
    package var isOutage: Bool { [.transport, .timeout, .vendorFault, .unauthorized].contains(self) }
}
