import Experimentation
import Foundation
import Synchronization

/// The stores of a process that may be killed: once cut, no operation reaches the underlying store.
///
/// The next process opens the same store with its own cut, as after a kill: leases last until they expire, and events
/// in flight have no verdict.
package final class CutStore: OutboxStoreDecorator, StateStoreDecorator {
    package let base: any OutboxStore
    package let baseState: any StateStore
    private let isCut = Atomic(false)
    /// The destinations that are being delivered to.
    private let lanes = Mutex(Set<Destination>())

    package init(_ store: ClientStore) {
        base = store.outbox
        baseState = store.state
    }

    /// Ends the process from the store's point of view.
    package func cut() { isCut.store(true, ordering: .sequentiallyConsistent) }

    /// Whether a delivery is under way, even if its lease has expired because time was pushed.
    package var isDelivering: Bool { lanes.withLock { !$0.isEmpty } }

    package var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    package func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let answer = try await pass(.lease) { () async throws(ExperimentationError) in try await base.lease(request) }
        lanes.withLock { lanes in
            if case .leased = answer {
                lanes.insert(request.destination)
            } else if request.token == nil {
                lanes.remove(request.destination)
            }
        }
        return answer
    }

    package func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        lanes.withLock { _ = $0.remove(token.destination) }
        try await pass(.release) { () async throws(ExperimentationError) in
            try await base.release(token, pause: pause, now: now)
        }
    }

    package func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if isCut.load(ordering: .sequentiallyConsistent) {
            throw ExperimentationError(.store, "This process has been killed.")
        }
        return try await body()
    }
}
