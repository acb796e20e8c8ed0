import Synchronization

/// The policy for reusing answers, with its counts.
final class ReusedAnswers: Sendable {
    /// The policy; `nil` to ask each time.
    let policy: AnswerReuse?
    private let state: Mutex<(pause: VendorPause, figures: AnswerFigures)>
    private let told = Atomic<Int>(0)

    init(_ policy: AnswerReuse?) {
        self.policy = policy
        state = Mutex((VendorPause(length: policy?.failures ?? .zero), AnswerFigures()))
    }

    /// The number of changes that the vendor has announced.
    var changes: Int { told.load(ordering: .acquiring) }

    /// Notes that the vendor has announced a change: no answer to a request from before it is reused.
    func noteChange() { told.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    /// The counts so far.
    var figures: AnswerFigures { state.withLock { $0.figures } }

    /// Counts one answer.
    func count(_ kind: any WritableKeyPath<AnswerFigures, Int> & Sendable) {
        state.withLock { $0.figures[keyPath: kind] += 1 }
    }

    /// Whether a request may be sent to the vendor, or the result to use instead.
    func word(at now: ContinuousClock.Instant) -> VendorPause.Word {
        guard policy != nil else { return .ask }
        return state.withLock { $0.pause.word(at: now) }
    }

    /// Records the outcome of a request.
    func note(_ outcome: VendorPause.Outcome, at now: ContinuousClock.Instant) {
        state.withLock { $0.pause.note(outcome, at: now) }
    }
}
