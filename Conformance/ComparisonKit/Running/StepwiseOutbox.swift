import Experimentation
import Synchronization

/// An outbox that gives nothing away while a step puts events into it.
///
/// A vendor that takes events by the hundred would otherwise get as many in the first request as were there when the
/// threads came to it, and the same story would be told differently each time.
final class StepwiseOutbox: ForwardingOutbox {
    private struct State {
        var isFilling = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let inner: any OutboxStore
    private let state = Mutex(State())

    init(_ inner: any OutboxStore) { self.inner = inner }

    /// Begins a step that puts events in.
    func beginFilling() { state.withLock { $0.isFilling = true } }

    /// Ends it, and lets go of whoever wants them.
    func endFilling() {
        let waiting = state.withLock { state in
            state.isFilling = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }

    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.isFilling { state.waiting.append(continuation) }
                return !state.isFilling
            }
            if goesOn { continuation.resume() }
        }
        return try await inner.lease(wanted)
    }
}
