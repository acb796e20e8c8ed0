import Synchronization

/// How ``UserSession/track(_:at:on:)`` behaves while too many events wait, instead of letting the store drop the
/// oldest.
public struct BackPressure: Sendable, Hashable {
    /// What `track` does at the limit.
    public enum Response: Sendable, Hashable {
        /// `track` waits for the backlog to shrink, at most this long; then it throws ``ErrorCode/outboxFull``, or
        /// ``ErrorCode/cancelled`` as soon as its task is cancelled.
        case wait(atMost: Duration)
        /// `track` throws ``ErrorCode/outboxFull`` at once.
        case refuse
    }

    /// How many events may wait for delivery; events held for consent don't count.
    public var limit: Int
    /// What `track` does once that many events wait.
    public var response: Response

    /// Makes `track` wait while that many events wait for delivery.
    public static func wait(above limit: Int, atMost duration: Duration) -> BackPressure {
        BackPressure(limit: limit, response: .wait(atMost: duration))
    }

    /// Makes `track` throw while that many events wait for delivery.
    public static func refuse(above limit: Int) -> BackPressure { BackPressure(limit: limit, response: .refuse) }
}

/// Holds back callers of `track` while too many events wait.
///
/// The store is asked only when the limit may have been reached. The number of events that waited when it was last
/// asked, plus those that may not have been among them, is an upper bound.
final class Brake: Sendable {
    private struct State {
        var bound: Int?
        /// The events that may be accepted but aren't on their way to the store yet.
        var unplaced = 0
        /// The number of the last question to the store, and of the last one that was answered.
        var asked = 0
        var answered = 0
        var change = AsyncGate()
    }

    private let policy: BackPressure
    private let time: any TimeSource
    private let state = Mutex(State())
    /// Callers ask in turn, so that no place is taken between a question and its answer.
    private let turn = AsyncSemaphore(limit: 1)

    init(_ policy: BackPressure, time: any TimeSource) { (self.policy, self.time) = (policy, time) }

    /// Signals that something was delivered, so that waiting callers check again.
    func release() {
        let change = state.withLock { state in
            defer { state.change = AsyncGate() }
            return state.change
        }
        change.open()
    }

    /// Waits until another event may be accepted, and then places it.
    ///
    /// - Parameters:
    ///   - waiting: Counts the events that wait for delivery, including all that were placed before.
    ///   - place: Sends the event on its way to the store.
    /// - Returns: The result of `place`.
    /// - Throws: ``ErrorCode/outboxFull``, ``ErrorCode/cancelled``, and what the store throws.
    func pass<Placed>(
        _ waiting: () async throws(ExperimentationError) -> Int,
        _ place: () -> Placed
    ) async throws(ExperimentationError) -> Placed {
        if !takePlace() { try await untilFree(waiting) }
        defer { state.withLock { $0.unplaced -= 1 } }
        return place()
    }

    /// Waits until there is a place, and takes it.
    private func untilFree(_ waiting: () async throws(ExperimentationError) -> Int) async throws(ExperimentationError) {
        var deadline: ContinuousClock.Instant?
        while true {
            let change = state.withLock { $0.change }
            if try await takesPlaceByAsking(waiting) { return }
            let count = state.withLock { $0.bound ?? 0 }
            guard case .wait(let duration) = policy.response else { throw full(count) }
            let end = deadline ?? time.instant.advanced(by: duration)
            deadline = end
            if Task.isCancelled {
                throw ExperimentationError(.cancelled, "The task was cancelled; nothing was accepted.")
            }
            guard time.instant < end else { throw full(count) }
            // Another process may deliver waiting events without notice.
            await change.wait(until: min(end, time.instant.advanced(by: .seconds(1))), by: time)
        }
    }

    /// Asks the store, unless another caller has done so in the meantime.
    ///
    /// - Returns: Whether there was a place, which is then taken.
    private func takesPlaceByAsking(
        _ waiting: () async throws(ExperimentationError) -> Int
    ) async throws(ExperimentationError) -> Bool {
        let asked = state.withLock { $0.asked }
        guard (try? await turn.enter()) != nil else { return takePlace() }
        defer { turn.leave() }
        if takePlace() { return true }
        if state.withLock({ $0.answered > asked }) { return false }
        let (number, unplaced) = state.withLock { state in
            state.asked += 1
            return (state.asked, state.unplaced)
        }
        let count = try await waiting()
        state.withLock { state in
            state.answered = number
            state.bound = count + unplaced
        }
        return takePlace()
    }

    private func takePlace() -> Bool {
        state.withLock { state in
            guard let bound = state.bound, bound < policy.limit else { return false }
            state.bound = bound + 1
            state.unplaced += 1
            return true
        }
    }

    private func full(_ count: Int) -> ExperimentationError {
        ExperimentationError(
            .outboxFull,
            "\(count) events wait for delivery, and no more than \(policy.limit) may; nothing was accepted."
        )
    }
}
