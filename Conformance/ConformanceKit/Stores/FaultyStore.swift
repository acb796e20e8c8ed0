import Experimentation
import Synchronization

/// The moment when an operation fails.
public enum FaultMoment: String, Sendable, CaseIterable {
    /// It fails without effect.
    case before
    /// It takes effect, but the caller gets an error.
    case after
}

/// A store whose calls of one operation fail every other time.
public final class FaultyStore: OutboxStoreDecorator, StateStoreDecorator {
    /// The underlying store.
    public let base: any OutboxStore
    /// The underlying state store.
    public let baseState: any StateStore
    private let operation: StoreOperation
    private let moment: FaultMoment
    private let calls = Mutex(0)

    /// Wraps a store.
    ///
    /// - Parameters:
    ///   - store: The store; its outbox or its state may be any implementation if it is never called.
    ///   - operation: The operation whose first, third, fifth… calls fail.
    ///   - moment: When it fails.
    public init(_ store: ClientStore, _ operation: StoreOperation, _ moment: FaultMoment) {
        base = store.outbox
        baseState = store.state
        self.operation = operation
        self.moment = moment
    }

    /// Runs the operation, or fails.
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

/// Retries an operation that fails every other time.
func again<Value>(_ body: () async throws -> Value) async throws -> Value {
    do { return try await body() } catch let error as ExperimentationError where error.code == .store {
        return try await body()
    }
}
