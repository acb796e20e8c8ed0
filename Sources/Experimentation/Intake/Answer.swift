import Synchronization

/// The outcome of a statement, given once, and the request to carry the line, which may come before it.
final class Answer: Sendable {
    typealias Outcome = Result<ConsentOutcome, ExperimentationError>

    /// What ends a caller's wait.
    enum Word: Sendable {
        /// The answer has been given.
        case outcome(Outcome)
        /// It is the caller's turn to carry the line, in which its statement comes first.
        case carry
    }

    private struct Waiting {
        var listeners: [@Sendable (Outcome) -> Void] = []
        var caller: CheckedContinuation<Word, Never>?
    }

    private struct State {
        var outcome: Outcome?
        /// Whether the caller is to carry the line and hasn't been told.
        var isAsked = false
        var waiting = Waiting()

        /// Sets the outcome.
        ///
        /// - Returns: What waits for it; `nil` if there was an outcome already.
        mutating func end(_ outcome: Outcome) -> Waiting? {
            guard self.outcome == nil else { return nil }
            self.outcome = outcome
            defer { waiting = Waiting() }
            return waiting
        }

        /// Removes and returns what the caller is to be told.
        mutating func takeWord() -> Word? {
            if let outcome { return .outcome(outcome) }
            defer { isAsked = false }
            return isAsked ? .carry : nil
        }
    }

    private let state = Mutex(State())

    /// Whether the answer has been given.
    var isGiven: Bool { state.withLock { $0.outcome != nil } }

    /// Gives the answer; only the first counts.
    func give(_ outcome: Outcome) {
        guard let waiting = state.withLock({ $0.end(outcome) }) else { return }
        for listener in waiting.listeners { listener(outcome) }
        waiting.caller?.resume(returning: .outcome(outcome))
    }

    /// Has the caller carry the line; at once if it waits, else as soon as it does.
    func askToCarry() {
        let caller = state.withLock { state in
            state.isAsked = state.waiting.caller == nil
            return state.waiting.caller.take()
        }
        caller?.resume(returning: .carry)
    }

    /// Calls a listener with the answer, at once if it has been given.
    func whenGiven(_ listener: @escaping @Sendable (Outcome) -> Void) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.waiting.listeners.append(listener) }
            return state.outcome
        }
        if let outcome { listener(outcome) }
    }

    /// Waits for the outcome or for the caller's turn; cancellation doesn't end the wait, because the statement is
    /// carried out nevertheless.
    var word: Word {
        get async {
            if let word = state.withLock({ $0.takeWord() }) { return word }
            return await withCheckedContinuation { continuation in
                let word = state.withLock { state in
                    let word = state.takeWord()
                    if word == nil { state.waiting.caller = continuation }
                    return word
                }
                if let word { continuation.resume(returning: word) }
            }
        }
    }
}
