import Experimentation

/// A store before whose conditional updates something else happens, or which fails them.
final class RacingStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let before: @Sendable () async throws(ExperimentationError) -> Void

    init(_ store: ClientStore, before: @escaping @Sendable () async throws(ExperimentationError) -> Void) {
        base = store.outbox
        baseState = store.state
        self.before = before
    }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if operation == .update { try await before() }
        return try await body()
    }
}
