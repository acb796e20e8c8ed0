import Experimentation
import Synchronization

/// Queues calls of the XML interface, in order, with a limit on how many run at a time.
///
/// Calls made before there was a token are sent one after the other once there is one, so that they arrive in order;
/// after the last of them, as many run at a time as the limit allows.
final class EngageCallLine: Sendable {
    private struct State {
        var isOpen = false
        /// The number of waiting calls that came before the line was opened.
        var backlog = 0
    }

    private let semaphore = AsyncSemaphore(limit: 1)
    private let state = Mutex(State())
    private let limit: Int
    private let longest: Int

    /// Creates a line with a limit on the calls in progress once there is a token, and one on the calls that wait.
    init(limit: Int, longest: Int = 10_000) {
        self.limit = limit
        self.longest = longest
    }

    /// The number of waiting calls.
    var waiting: Int { semaphore.waiting }

    /// Waits for a turn; the caller must call ``leave()`` afterwards.
    func enter() async throws(ExperimentationError) {
        guard waiting < longest else { throw ExperimentationError(.tooLarge, "too many calls wait already") }
        let isEarly = state.withLock { state in
            if !state.isOpen { state.backlog += 1 }
            return !state.isOpen
        }
        defer { if isEarly { change { $0.backlog -= 1 } } }
        try await semaphore.take()
    }

    /// Passes the turn to the next caller.
    func leave() { semaphore.leave() }

    /// Notes that there is a token: the calls waiting now are the backlog.
    func open() { change { $0.isOpen = true } }

    private func change(_ change: (inout State) -> Void) {
        let isFree = state.withLock { state in
            change(&state)
            return state.isOpen && state.backlog == 0
        }
        if isFree { semaphore.setLimit(limit) }
    }
}
