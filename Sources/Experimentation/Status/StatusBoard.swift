import Synchronization

/// Announces changes of the provider's status: each once, in order, and the current status to late subscribers.
final class StatusBoard: Sendable {
    private struct State {
        var latest = ProviderEvent(.reconciling, status: .notReady)
        var observers: [UInt64: AsyncStream<ProviderEvent>.Continuation] = [:]
        var nextID: UInt64 = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// The current status.
    var status: ProviderStatus { state.withLock { $0.latest.status } }

    /// The changes from now on, starting with the current status.
    func events() -> AsyncStream<ProviderEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ProviderEvent.self)
        state.withLock { state in
            continuation.yield(state.latest)
            if state.isFinished {
                continuation.finish()
                return
            }
            let id = state.nextID
            state.nextID += 1
            state.observers[id] = continuation
            continuation.onTermination = { [weak self] _ in self?.remove(id) }
        }
        return stream
    }

    /// Announces a change, unless nothing changes.
    ///
    /// - Parameters:
    ///   - kind: What changed.
    ///   - status: The status from now on.
    ///   - error: What went wrong, if anything.
    func announce(_ kind: ProviderEvent.Kind, _ status: ProviderStatus, error: ExperimentationError? = nil) {
        let event = ProviderEvent(kind, status: status, error: error)
        // Yielding inside the lock keeps the order; a continuation only buffers.
        state.withLock { state in
            guard state.latest != event || kind == .configurationChanged, !state.isFinished else { return }
            state.latest = event
            for observer in state.observers.values { observer.yield(event) }
        }
    }

    /// Announces something that leaves the status unchanged, to current listeners only.
    func mention(_ kind: ProviderEvent.Kind, error: ExperimentationError) {
        state.withLock { state in
            let event = ProviderEvent(kind, status: state.latest.status, error: error)
            for observer in state.observers.values { observer.yield(event) }
        }
    }

    /// Ends all streams.
    func finish() {
        let observers = state.withLock { state in
            state.isFinished = true
            defer { state.observers = [:] }
            return state.observers
        }
        for observer in observers.values { observer.finish() }
    }

    private func remove(_ id: UInt64) {
        _ = state.withLock { $0.observers.removeValue(forKey: id) }
    }
}
