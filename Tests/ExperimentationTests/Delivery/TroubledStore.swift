import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization

/// A gate that is closed until a test opens it.
final class Door: Sendable {
    private let opened = AsyncStream.makeStream(of: Void.self)
    private let reached = AsyncStream.makeStream(of: Void.self)

    func pass() async {
        knock()
        for await _ in opened.stream { return }
    }
    /// Reports an arrival that doesn't wait for the gate.
    func knock() { reached.continuation.yield() }
    func untilReached() async { for await _ in reached.stream { return } }
    /// Lets all present and future arrivals through.
    func open() { opened.continuation.finish() }
}

/// A store in memory that is slow or fails as a test asks.
final class TroubledStore: OutboxStoreDecorator {
    /// The faults; the first append and the first settlement have number 1.
    struct Trouble: Sendable {
        /// The append that waits at ``TroubledStore/appendDoor`` after it is carried out.
        var slowAppend = 0
        /// The settlement that waits at ``TroubledStore/settleDoor`` before it is carried out.
        var slowSettle = 0
        /// The settlement that fails.
        var failingSettle = 0
        /// The append that fails.
        var failingAppend = 0
        /// Whether denials of consent fail.
        var failsDenials = false
        /// Whether removals of everything fail.
        var failsRemovals = false
    }

    let appendDoor = Door()
    let settleDoor = Door()
    private let silence = Door()
    let base: any OutboxStore = InMemoryOutboxStore()
    private struct State {
        var trouble: Trouble
        var counts: [StoreOperation: Int] = [:]
        var unanswered: StoreOperation?
    }
    private let state: Mutex<State>

    init(_ trouble: Trouble = Trouble()) { state = Mutex(State(trouble: trouble)) }

    /// The number of calls of each operation.
    var counts: [StoreOperation: Int] { state.withLock { $0.counts } }

    /// Leaves calls of an operation without an answer until ``speak()``.
    func fallSilent(at question: StoreOperation) { state.withLock { $0.unanswered = question } }
    func speak() { silence.open() }

    func mendDenials() { state.withLock { $0.trouble.failsDenials = false } }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let (count, trouble, isSilent) = state.withLock { state in
            state.counts[operation, default: 0] += 1
            return (state.counts[operation, default: 0], state.trouble, state.unanswered == operation)
        }
        if isSilent { await silence.pass() }
        if operation == .settle {
            if count == trouble.slowSettle { await settleDoor.pass() }
            if count == trouble.failingSettle { throw ExperimentationError(.store, "The disk failed.") }
        }
        let fails =
            operation == .append && count == trouble.failingAppend || operation == .remove && trouble.failsRemovals
        if fails { throw ExperimentationError(.store, "The disk failed.") }
        let value = try await body()
        if operation == .append, count == trouble.slowAppend { await appendDoor.pass() }
        return value
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        if changes.contains(where: { !$0.isGranted }), state.withLock({ $0.trouble.failsDenials }) {
            throw ExperimentationError(.store, "The disk failed.")
        }
        return try await pass(.setConsent) { () async throws(ExperimentationError) in
            try await base.setConsent(changes)
        }
    }
}
