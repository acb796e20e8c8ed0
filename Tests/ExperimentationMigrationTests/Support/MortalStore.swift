import Experimentation
import Synchronization

/// The store of a process that dies: after a number of operations, nothing reaches the store beneath.
final class MortalStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let left: Mutex<Int>

    init(_ store: ClientStore, dyingAfter operations: Int) {
        base = store.outbox
        baseState = store.state
        left = Mutex(operations)
    }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    var isDead: Bool { left.withLock { $0 <= 0 } }

    /// In every second case, the last operation is carried out but its result is lost.
    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let before = left.withLock { left in
            defer { left = max(left - 1, 0) }
            return left
        }
        let death = ExperimentationError(.store, "This process has been killed.")
        if before <= 0 { throw death }
        let value = try await body()
        if before == 1, operation != .lease { throw death }
        return value
    }
}
