import Experimentation
import Synchronization

/// When an operation fails.
public enum FaultMoment: String, Sendable, CaseIterable {
    /// Nothing is done.
    case before
    /// It is done, and the caller never learns.
    case after
}

/// A store of which one operation fails every other time.
public final class FaultyStore: OutboxStoreDecorator, StateStoreDecorator {
    /// The store beneath.
    public let base: any OutboxStore
    /// The state beneath.
    public let baseState: any StateStore
    private let operation: StoreOperation
    private let moment: FaultMoment
    private let calls = Mutex(0)

    /// Wraps a store.
    ///
    /// - Parameters:
    ///   - store: The store, of which the half that isn't called may be anything.
    ///   - operation: What fails the first, the third, the fifth time.
    ///   - moment: When it fails.
    public init(_ store: ClientStore, _ operation: StoreOperation, _ moment: FaultMoment) {
        base = store.outbox
        baseState = store.state
        self.operation = operation
        self.moment = moment
    }

    /// Does it, or fails.
    public func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let fails =
            operation == self.operation
            && calls.withLock { calls in
                calls += 1
                return calls % 2 == 1
            }
        if fails, moment == .before { throw Self.fault }
        let value = try await body()
        if fails { throw Self.fault }
        return value
    }

    private static let fault = ExperimentationError(.store, "This operation was made to fail.")
}

/// Tries something again that fails every other time.
func again<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as ExperimentationError where error.code == .store {
        return try await body()
    }
}
