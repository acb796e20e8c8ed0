import Synchronization

/// Announces changes of the provider's status: each once, in order, and the current status to late subscribers.
final class StatusBoard: Sendable {
    private struct State {
        var latest = ProviderEvent(.reconciling, status: .notReady)
        var isFinished = false
    }

    private let state = Mutex(State())
    private let listeners = Listeners<ProviderEvent>()

    /// Whether nothing more is announced, because the client has shut down.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// The current status.
    var status: ProviderStatus { state.withLock { $0.latest.status } }

    /// The changes from now on, starting with the current status.
    func events() -> AsyncStream<ProviderEvent> {
        let (stream, isFinished) = state.withLock { state in
            (listeners.stream(beginningWith: state.latest), state.isFinished)
        }
        if isFinished { listeners.finish() }
        return stream
    }

    /// Announces a change, unless nothing changes.
    ///
    /// - Parameters:
    ///   - kind: What changed.
    ///   - status: The status from now on.
    ///   - error: What went wrong, if anything.
    ///   - isOutweighed: Whether another status takes precedence; called at the moment at which the change would take
    ///     effect.
    func announce(
        _ kind: ProviderEvent.Kind,
        _ status: ProviderStatus,
        error: ExperimentationError? = nil,
        unless isOutweighed: () -> Bool = { false }
    ) {
        let event = ProviderEvent(kind, status: status, error: error)
        // Add the event under the lock, which keeps the order, and tell the listeners after releasing it.
        state.withLock { state in
            guard state.latest != event, !state.isFinished, !isOutweighed() else { return }
            state.latest = event
            listeners.add(event)
        }
        listeners.tell()
    }

    /// Announces something that leaves the status unchanged, to current listeners only.
    func mention(_ kind: ProviderEvent.Kind, error: ExperimentationError? = nil) {
        state.withLock { state in
            listeners.add(ProviderEvent(kind, status: state.latest.status, error: error))
        }
        listeners.tell()
    }

    /// Ends all streams.
    func finish() {
        state.withLock { $0.isFinished = true }
        listeners.finish()
    }
}
