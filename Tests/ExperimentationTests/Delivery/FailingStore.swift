import Experimentation
import Foundation
import Synchronization

/// A store of which a few operations fail, events and state counted together.
final class FailingStore: OutboxStoreDecorator, StateStoreDecorator {
    /// When an operation fails: before anything is done, or once it is done and can't be told.
    enum Moment: CaseIterable { case before, after }

    private struct Progress {
        var count = 0
        var failed: Set<StoreOperation> = []
    }

    /// What a test looks at in the end isn't counted.
    private static let uncounted: Set<StoreOperation> = [.ledger, .keys]
    private static let ofState: Set<StoreOperation> = [.value, .setValue, .update, .removeAll]

    let base: any OutboxStore = InMemoryOutboxStore()
    let baseState: any StateStore = InMemoryStateStore()
    private let failing: Range<Int>
    private let moment: Moment
    private let isStateCounted: Bool
    private let progress = Mutex(Progress())

    init(failing: Range<Int>, _ moment: Moment = .before, inStateToo isStateCounted: Bool = true) {
        self.failing = failing
        self.moment = moment
        self.isStateCounted = isStateCounted
    }

    /// How many operations there were.
    var operations: Int { progress.withLock { $0.count } }
    /// The operations that failed.
    var failed: Set<StoreOperation> { progress.withLock { $0.failed } }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if Self.uncounted.contains(operation) || (Self.ofState.contains(operation) && !isStateCounted) {
            return try await body()
        }
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
