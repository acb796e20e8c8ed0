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

    /// What the store may be asked for and never answer.
    enum Question: CaseIterable { case append, lease, settle, status }

    let appendDoor = Door()
    let settleDoor = Door()
    private let silence = Door()
    let inner: any OutboxStore = InMemoryOutboxStore()
    private struct State {
        var trouble: Trouble
        var appends = 0
        var settles = 0
        var releases = 0
        var unanswered: Question?
    }
    private let state: Mutex<State>

    init(_ trouble: Trouble = Trouble()) { state = Mutex(State(trouble: trouble)) }

    /// How often events were let go.
    var releases: Int { state.withLock { $0.releases } }

    /// Answers one question no more, until ``speak()``.
    func fallSilent(at question: Question) { state.withLock { $0.unanswered = question } }
    func speak() { silence.open() }

    private func stand(at question: Question) async {
        if state.withLock({ $0.unanswered == question }) { await silence.pass() }
    }

    func mendPurges() { state.withLock { $0.trouble.failsPurges = false } }

    func append(_ envelopes: [Envelope], isHeld: Bool) async throws(ExperimentationError) {
        await stand(at: .append)
        try await inner.append(envelopes, isHeld: isHeld)
        let isSlow = state.withLock { state in
            state.appends += 1
            return state.appends == state.trouble.slowAppend
        }
        if isSlow { await appendDoor.pass() }
    }
    func lease(_ wanted: LeaseRequest) async throws(ExperimentationError) -> [[Envelope]] {
        await stand(at: .lease)
        return try await inner.lease(wanted)
    }
    func status(now: Date) async throws(ExperimentationError) -> OutboxStatus {
        await stand(at: .status)
        return try await inner.status(now: now)
    }
    func settle(_ settlements: [Settlement]) async throws(ExperimentationError) {
        await stand(at: .settle)
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
