/// Whether a vendor that has just failed, or is disabled, is asked again.
///
/// After some failures in a row it is left alone for a while. Then one request goes to it, and the others wait for another
/// such while.
struct VendorPause: Sendable {
    /// What a request is told.
    enum Word: Sendable, Equatable {
        /// To ask the vendor.
        case ask
        /// What the vendor's last answer was.
        case failed(ExperimentationError)
        case disabled
    }

    /// What came of a request.
    enum Outcome: Sendable {
        case decided
        case disabled
        case failed(ExperimentationError)
    }

    /// How many failures in a row begin a pause: one may be a single request's own.
    static let most = 3

    /// How long a pause takes.
    let length: Duration
    private var failures = 0
    private var pause: (word: Word, end: ContinuousClock.Instant)?

    /// Creates the state of a vendor that hasn't been asked.
    init(length: Duration) { self.length = length }

    /// What a request is told now.
    mutating func word(at now: ContinuousClock.Instant) -> Word {
        guard let pause else { return .ask }
        guard now >= pause.end else { return pause.word }
        self.pause = (pause.word, now.advanced(by: length))
        return .ask
    }

    /// Notes what came of a request.
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
    /// Whether it is the vendor's, or the way to it, rather than that of one request.
    fileprivate var isOutage: Bool { [.transport, .timeout, .vendorFault, .unauthorized].contains(self) }
}
