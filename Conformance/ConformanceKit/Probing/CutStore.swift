import Experimentation
import Synchronization

/// The stores of a process that may be killed: once cut, none of its operations reach the underlying store.
///
/// The next process opens the same store with a cut of its own, as after a kill: leases last until they expire, and
/// events in flight have no verdict.
package final class CutStore: OutboxStoreDecorator, StateStoreDecorator {
    package let base: any OutboxStore
    package let baseState: any StateStore
    private let isCut = Atomic(false)

    package init(_ store: ClientStore) {
        base = store.outbox
        baseState = store.state
    }

    /// Ends the process from the store's point of view.
    package func cut() { isCut.store(true, ordering: .sequentiallyConsistent) }

    package var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

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
