import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization

/// A door that is shut until a test opens it.
final class Door: Sendable {
    private let opened = AsyncStream.makeStream(of: Void.self)
    private let reached = AsyncStream.makeStream(of: Void.self)

    func pass() async {
        knock()
        for await _ in opened.stream { return }
    }
    /// Says that somebody is there who doesn't wait for the door.
    func knock() { reached.continuation.yield() }
    func untilReached() async { for await _ in reached.stream { return } }
    /// Lets through whoever stands there, and whoever comes.
    func open() { opened.continuation.finish() }
}

/// A store in memory that is slow or fails where a test wants it to.
final class TroubledStore: OutboxStoreDecorator {
    /// What goes wrong; the first append and the first settling are number 1.
    struct Trouble: Sendable {
        /// The append that stands before ``TroubledStore/appendDoor`` once it is done.
        var slowAppend = 0
        /// The settling that stands before ``TroubledStore/settleDoor`` until it is done.
        var slowSettle = 0
        /// The settling that fails.
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

    /// How often each operation was asked for.
    var counts: [StoreOperation: Int] { state.withLock { $0.counts } }

    /// Answers one kind of question no more, until ``speak()``.
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
