import Synchronization

/// How ``UserSession/track(_:at:on:)`` behaves while too many events wait, instead of letting the store drop the
/// oldest.
public struct BackPressure: Sendable, Hashable {
    /// What `track` does at the limit.
    public enum Response: Sendable, Hashable {
        /// `track` waits for the backlog to shrink, at most this long; then it throws ``ErrorCode/outboxFull``.
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
/// The store is asked only when the limit may have been reached: the number of events that waited when it was last
/// asked, plus those accepted since, is an upper bound.
final class Brake: Sendable {
    private struct State {
        var bound: Int?
        var change = AsyncGate()
    }

    private let policy: BackPressure
    private let time: any TimeSource
    private let state = Mutex(State())

    init(_ policy: BackPressure, time: any TimeSource) { (self.policy, self.time) = (policy, time) }

    /// Signals that something was delivered, so that waiting callers check again.
    func release() {
        let change = state.withLock { state in
            defer { state.change = AsyncGate() }
            return state.change
        }
        change.open()
    }

    /// Returns once another event may be accepted.
    ///
    /// - Parameter waiting: Counts the events that wait for delivery.
    /// - Throws: ``ErrorCode/outboxFull``, and what the store throws.
    func pass(_ waiting: () async throws(ExperimentationError) -> Int) async throws(ExperimentationError) {
        if takePlace() { return }
        var deadline: ContinuousClock.Instant?
        while true {
            let change = state.withLock { $0.change }
            let count = try await waiting()
            state.withLock { $0.bound = count }
            if takePlace() { return }
            guard case .wait(let duration) = policy.response else { throw full(count) }
            let end = deadline ?? time.instant.advanced(by: duration)
            deadline = end
            guard time.instant < end, !Task.isCancelled else { throw full(count) }
            // Another process may deliver waiting events without notice.
            await change.wait(until: min(end, time.instant.advanced(by: .seconds(1))), by: time)
        }
    }

    private func takePlace() -> Bool {
        state.withLock { state in
            guard let bound = state.bound, bound < policy.limit else { return false }
            state.bound = bound + 1
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
