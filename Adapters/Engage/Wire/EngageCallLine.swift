import Experimentation
import Synchronization

/// Where calls of the XML interface wait their turn: in the order in which they came, some at a time.
///
/// Calls made before there was a token go out one after the other once it is there, so that they arrive in order; after
/// the last of them as many at a time as the limit says.
final class EngageCallLine: Sendable {
    private struct State {
        var isOpen = false
        /// How many calls wait that came before the line was open.
        var backlog = 0
    }

    private let semaphore = AsyncSemaphore(limit: 1)
    private let state = Mutex(State())
    private let limit: Int
    private let longest: Int

    /// Creates a line.
    ///
    /// - Parameters:
    ///   - limit: How many calls are let through at a time once there is a token.
    ///   - longest: How many calls may wait.
    init(limit: Int, longest: Int = 10_000) {
        self.limit = limit
        self.longest = longest
    }

    /// How many calls wait.
    var waiting: Int { semaphore.waiting }

    /// Waits for one's turn.
    ///
    /// The caller must ``leave()`` afterwards.
    func enter() async throws(ExperimentationError) {
        guard waiting < longest else { throw ExperimentationError(.tooLarge, "too many calls wait already") }
        let isEarly = state.withLock { state in
            if !state.isOpen { state.backlog += 1 }
            return !state.isOpen
        }
        defer { if isEarly { shortenBacklog() } }
        do {
            try await semaphore.enter()
        } catch {
            throw ExperimentationError(.cancelled, "cancelled while waiting for its turn")
        }
    }

    /// Gives the turn to the next.
    func leave() { semaphore.leave() }

    /// Takes note that there is a token: what waits now is the backlog.
    func open() {
        let isFree = state.withLock { state in
            if state.isOpen { return false }
            state.isOpen = true
            return state.backlog == 0
        }
        if isFree { semaphore.setLimit(limit) }
    }

    /// Takes note that a call of the backlog waits no longer.
    private func shortenBacklog() {
        let isFree = state.withLock { state in
            state.backlog -= 1
            return state.isOpen && state.backlog == 0
        }
        if isFree { semaphore.setLimit(limit) }
    }
}
