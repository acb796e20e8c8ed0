import Synchronization

/// Passes announcements to one listener: in order, once each, and never under a lock.
final class FlagshipAnnouncer<Value: Sendable>: Sendable {
    private struct State {
        var waiting: [Value] = []
        var isSpeaking = false
    }

    private let listener: (@Sendable (Value) -> Void)?
    private let state = Mutex(State())

    init(_ listener: (@Sendable (Value) -> Void)?) { self.listener = listener }

    /// Announces a value; an announcement caused by the listener follows after this one.
    func announce(_ value: Value) {
        guard let listener else { return }
        let speaks = state.withLock { state in
            state.waiting.append(value)
            defer { state.isSpeaking = true }
            return !state.isSpeaking
        }
        guard speaks else { return }
        while let next = next() { listener(next) }
    }

    private func next() -> Value? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isSpeaking = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
