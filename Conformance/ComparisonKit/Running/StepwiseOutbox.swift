import Experimentation
import Synchronization

/// An outbox that gives nothing away while a step puts events into it.
///
/// A vendor that takes events by the hundred would otherwise get as many in the first request as were there when the
/// threads came to it, and the same story would be told differently each time.
final class StepwiseOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    /// Closed while a step puts events in.
    private let filling = Mutex<AsyncGate?>(nil)

    init(_ base: any OutboxStore) { self.base = base }

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

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        if let gate = filling.withLock({ $0 }), await !gate.wait() { return .nothing(until: nil) }
        return try await base.lease(request)
    }
}
