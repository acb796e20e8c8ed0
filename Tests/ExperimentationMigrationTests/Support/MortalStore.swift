import Experimentation
import Synchronization

/// The store of a process that dies: after a number of operations, nothing reaches the store beneath.
final class MortalStore: OutboxStoreDecorator, StateStoreDecorator {
    let base: any OutboxStore
    let baseState: any StateStore
    private let life: Int
    private let failing: Range<Int>
    private let losesLast: Bool
    private let passed = Mutex(0)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - store: The store beneath.
    ///   - operations: The number of operations that reach it.
    ///   - failing: Those of them that fail, without the death of the process.
    ///   - losesLast: Whether the last operation is carried out without its result. If not, the process dies after the
    ///     result, before the next one.
    init(_ store: ClientStore, dyingAfter operations: Int, failing: Range<Int> = 0..<0, losesLast: Bool = true) {
        base = store.outbox
        baseState = store.state
        life = operations
        self.failing = failing
        self.losesLast = losesLast
    }

    var clientStore: ClientStore { ClientStore(outbox: self, state: self) }

    var isDead: Bool { passed.withLock { $0 >= life } }

    /// Whether an operation has failed without the death of the process.
    var hasFailed: Bool { passed.withLock { $0 > failing.lowerBound } && !failing.isEmpty }

    /// Whether operations fail, or will fail later.
    var isFailing: Bool { passed.withLock { $0 < failing.upperBound } }

    /// Ends the process now.
    func die() { passed.withLock { $0 = max($0, life) } }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let number = passed.withLock { passed in
            defer { passed += 1 }
            return passed
        }
        let death = ExperimentationError(.store, "This process has been killed.")
        if number >= life { throw death }
        if failing.contains(number) { throw ExperimentationError(.store, "The disk doesn't answer.") }
        let value = try await body()
        if number == life - 1, losesLast, operation != .lease { throw death }
        return value
    }
}
