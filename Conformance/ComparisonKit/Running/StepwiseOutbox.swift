import Experimentation
import Synchronization

/// An outbox that gives nothing away while a step puts events into it.
///
/// A vendor that takes events by the hundred would otherwise get as many in the first request as were there when the
/// threads came to it, and the same story would be told differently each time.
final class StepwiseOutbox: ForwardingOutbox {
    let inner: any OutboxStore
    /// Closed while a step puts events in.
    private let filling = Mutex<AsyncGate?>(nil)

    init(_ inner: any OutboxStore) { self.inner = inner }

    /// Begins a step that puts events in.
    func beginFilling() { filling.withLock { $0 = $0 ?? AsyncGate() } }

    /// Ends it, and lets go of whoever wants them.
    func endFilling() {
        let gate = filling.withLock { gate in
            defer { gate = nil }
            return gate
        }
        gate?.open()
    }

    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        if let gate = filling.withLock({ $0 }), await !gate.wait() { return [] }
        return try await inner.lease(wanted)
    }
}
