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

    /// Adds a value, which the next call of ``speak()`` announces.
    func add(_ value: Value) { if listener != nil { state.withLock { $0.waiting.append(value) } } }

    /// Announces what was added, unless that is being done; an announcement caused by the listener follows after this one.
    func speak() {
        guard let listener else { return }
        let speaks = state.withLock { state in
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
