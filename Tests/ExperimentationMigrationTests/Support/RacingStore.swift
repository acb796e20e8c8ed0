import Experimentation

/// A store before whose conditional updates, or after whose reads, something else happens, or which fails them.
final class RacingStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let before: @Sendable () async throws(ExperimentationError) -> Void
    private let after: @Sendable () async throws(ExperimentationError) -> Void

    init(
        _ store: ClientStore,
        before: @escaping @Sendable () async throws(ExperimentationError) -> Void = {},
        afterReads after: @escaping @Sendable () async throws(ExperimentationError) -> Void = {}
    ) {
        base = store.outbox
        baseState = store.state
        self.before = before
        self.after = after
    }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if operation == .update { try await before() }
        let value = try await body()
        if operation == .value { try await after() }
        return value
    }
}
