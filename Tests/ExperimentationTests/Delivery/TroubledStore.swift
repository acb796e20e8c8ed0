import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization

/// A door that is shut until a test opens it.
final class Door: Sendable {
    private let opened = AsyncStream.makeStream(of: Void.self)
    private let reached = AsyncStream.makeStream(of: Void.self)

    func pass() async {
        reached.continuation.yield()
        for await _ in opened.stream { return }
    }
    func untilReached() async { for await _ in reached.stream { return } }
    func open() { opened.continuation.yield() }
}

/// A store in memory that is slow or fails where a test wants it to.
final class TroubledStore: ForwardingOutbox {
    /// What goes wrong; the first append and the first settling are number 1.
    struct Trouble: Sendable {
        /// The append that stands before ``TroubledStore/appendDoor`` once it is done.
        var slowAppend = 0
        /// The settling that stands before ``TroubledStore/settleDoor`` until it is done.
        var slowSettle = 0
        /// The settling that fails.
        var failingSettle = 0
        /// Whether removals fail.
        var failsPurges = false
    }

    let appendDoor = Door()
    let settleDoor = Door()
    let inner: any OutboxStore = InMemoryOutboxStore()
    private let state: Mutex<(trouble: Trouble, appends: Int, settles: Int, releases: Int)>

    init(_ trouble: Trouble = Trouble()) { state = Mutex((trouble, 0, 0, 0)) }

    /// How often events were let go.
    var releases: Int { state.withLock { $0.releases } }

    func mendPurges() { state.withLock { $0.trouble.failsPurges = false } }

    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        try await inner.append(envelopes, isHeld: isHeld)
        let isSlow = state.withLock { state in
            state.appends += 1
            return state.appends == state.trouble.slowAppend
        }
        if isSlow { await appendDoor.pass() }
    }
    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        let (isSlow, fails) = state.withLock { state in
            state.settles += 1
            return (state.settles == state.trouble.slowSettle, state.settles == state.trouble.failingSettle)
        }
        if isSlow { await settleDoor.pass() }
        if fails { throw ExperimentationError(.store, "The disk failed.") }
        try await inner.settle(settlements)
    }
    func release(userID: String) async throws(ExperimentationError) {
        state.withLock { $0.releases += 1 }
        try await inner.release(userID: userID)
    }
    func purge(userID: String) async throws(ExperimentationError) -> Int {
        if state.withLock({ $0.trouble.failsPurges }) { throw ExperimentationError(.store, "The disk failed.") }
        return try await inner.purge(userID: userID)
    }
}
