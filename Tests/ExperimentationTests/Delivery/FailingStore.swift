import Experimentation
import Foundation
import Synchronization

/// A store with some failing operations; events and state are counted together.
final class FailingStore: OutboxStoreDecorator, StateStoreDecorator {
    /// When an operation fails: before it is carried out, or after it, so that only its result is lost.
    enum Moment: CaseIterable { case before, after }

    private struct Progress {
        var count = 0
        var failed: Set<StoreOperation> = []
    }

    /// All operations except those that a test uses for its final checks.
    static let everyOperation = Set(StoreOperation.allCases).subtracting([.ledger, .keys])

    let base: any OutboxStore = InMemoryOutboxStore()
    let baseState: any StateStore = InMemoryStateStore()
    private let failing: Range<Int>
    private let moment: Moment
    private let counted: Set<StoreOperation>
    private let progress = Mutex(Progress())

    init(
        failing: Range<Int>,
        of counted: Set<StoreOperation> = everyOperation,
        _ moment: Moment = .before
    ) {
        self.failing = failing
        self.counted = counted
        self.moment = moment
    }

    /// The number of operations that could fail.
    var operations: Int { progress.withLock { $0.count } }
    /// The operations that failed.
    var failed: Set<StoreOperation> { progress.withLock { $0.failed } }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        guard counted.contains(operation) else { return try await body() }
        let fails = progress.withLock { progress in
            defer { progress.count += 1 }
            let fails = failing.contains(progress.count)
            if fails { progress.failed.insert(operation) }
            return fails
        }
        if fails, moment == .before { throw ExperimentationError(.store, "The disk failed.") }
        let value = try await body()
        if fails { throw ExperimentationError(.store, "The disk failed to say that it is done.") }
        return value
    }
}
