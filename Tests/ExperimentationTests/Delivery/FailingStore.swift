import Experimentation
import Foundation
import Synchronization

/// A store of which a few operations fail, events and state counted together.
final class FailingStore: OutboxStore, StateStore {
    /// When an operation fails: before anything is done, or once it is done and can't be told.
    enum Moment: CaseIterable { case before, after }

    private struct Progress {
        var count = 0
        var failed: Set<String> = []
    }

    private let outbox = InMemoryOutboxStore()
    private let state = InMemoryStateStore()
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
    var failed: Set<String> { progress.withLock { $0.failed } }

    private func perform<Value: Sendable>(
        _ name: String = #function,
        _ operation: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let fails = progress.withLock { progress in
            defer { progress.count += 1 }
            let fails = failing.contains(progress.count)
            if fails { progress.failed.insert(String(name.prefix { $0 != "(" })) }
            return fails
        }
        if fails, moment == .before { throw ExperimentationError(.store, "The disk failed.") }
        let value = try await operation()
        if fails { throw ExperimentationError(.store, "The disk failed to say that it is done.") }
        return value
    }

    // MARK: Events

    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        try await perform { () async throws(ExperimentationError) in
            try await outbox.append(envelopes, isHeld: isHeld)
        }
    }
    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        try await perform { () async throws(ExperimentationError) in try await outbox.lease(wanted) }
    }
    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        try await perform { () async throws(ExperimentationError) in try await outbox.settle(settlements) }
    }
    func release(userID: String) async throws(ExperimentationError) {
        try await perform { () async throws(ExperimentationError) in try await outbox.release(userID: userID) }
    }
    func purge(userID: String) async throws(ExperimentationError) -> Int {
        try await perform { () async throws(ExperimentationError) in try await outbox.purge(userID: userID) }
    }
    func expire(before date: Date) async throws(ExperimentationError) -> Int {
        try await perform { () async throws(ExperimentationError) in try await outbox.expire(before: date) }
    }
    func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await perform { () async throws(ExperimentationError) in try await outbox.status(now: now) }
    }
    /// Not counted: it is what a test looks at in the end.
    func ledger() async throws(ExperimentationError) -> Ledger { try await outbox.ledger() }

    // MARK: State

    private func performState<Value: Sendable>(
        _ name: String = #function,
        _ operation: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        isStateCounted ? try await perform(name, operation) : try await operation()
    }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await performState { () async throws(ExperimentationError) in try await state.value(for: key) }
    }
    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await performState { () async throws(ExperimentationError) in
            try await state.setValue(value, for: key)
        }
    }
    /// Not counted, either.
    func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await state.keys(beginningWith: prefix)
    }
    func removeAll(beginningWith prefix: String) async throws(ExperimentationError) {
        try await performState { () async throws(ExperimentationError) in
            try await state.removeAll(beginningWith: prefix)
        }
    }
}
