import Synchronization

/// The outcome of a statement; given once.
final class Answer: Sendable {
    typealias Outcome = Result<ConsentOutcome, ExperimentationError>

    private struct State {
        var outcome: Outcome?
        var listeners: [@Sendable (Outcome) -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether the answer has been given.
    var isGiven: Bool { state.withLock { $0.outcome != nil } }

    /// Gives the answer; only the first counts.
    func give(_ outcome: Outcome) {
        let listeners = state.withLock { state -> [@Sendable (Outcome) -> Void] in
            guard state.outcome == nil else { return [] }
            state.outcome = outcome
            defer { state.listeners = [] }
            return state.listeners
        }
        for listener in listeners { listener(outcome) }
    }

    /// Calls a listener with the answer, at once if it has been given.
    func whenGiven(_ listener: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.listeners.append(listener) }
            return state.outcome
        }
        if let outcome { listener(outcome) }
    }

    /// The answer, once given; cancellation doesn't end the wait, because the statement is carried out all the same.
    var value: Outcome {
        get async {
            if let outcome = state.withLock({ $0.outcome }) { return outcome }
            return await withCheckedContinuation { continuation in
                whenGiven { continuation.resume(returning: $0) }
            }
        }
    }
}
