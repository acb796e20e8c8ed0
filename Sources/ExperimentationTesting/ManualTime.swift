import Experimentation
import Foundation
import Synchronization

/// Time that stands still until a test moves it.
///
/// ```swift
/// let time = ManualTime()
/// let client = try await ExperimentationClient(provider: provider, environment: Environment(time: time))
/// await time.waitForSleepers(1)
/// time.advance(by: .seconds(60))
/// ```
public final class ManualTime: TimeSource {
    private struct Sleeper {
        var deadline: ContinuousClock.Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Waiter {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now: Date
        var instant: ContinuousClock.Instant
        var sleepers: [UInt64: Sleeper] = [:]
        var cancelled: Set<UInt64> = []
        var waiters: [Waiter] = []
        var nextID: UInt64 = 0

        mutating func takeContentWaiters() -> [Waiter] {
            let count = sleepers.count
            let content = waiters.filter { $0.count <= count }
            waiters.removeAll { $0.count <= count }
            return content
        }
    }

    private let state: Mutex<State>

    /// Creates time that stands at a date.
    ///
    /// - Parameter now: The date; 21 November 2026, 10:00 UTC, unless another is named.
    public init(now: Date = Date(timeIntervalSince1970: 1_795_255_200)) {
        state = Mutex(State(now: now, instant: ContinuousClock.now))
    }

    /// The time of day.
    public var now: Date { state.withLock { $0.now } }
    /// The moment.
    public var instant: ContinuousClock.Instant { state.withLock { $0.instant } }

    /// Moves both clocks and wakes whoever slept until then, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.instant = state.instant.advanced(by: duration)
            state.now += duration.seconds
            let due = state.sleepers.filter { $0.value.deadline <= state.instant }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Sets the time of day alone, as a user does who changes the clock; nobody wakes.
    public func setNow(_ now: Date) { state.withLock { $0.now = now } }

    /// How many tasks are asleep.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// How long it is until the first sleeper wakes; `nil` if nobody sleeps.
    public var untilNextWake: Duration? {
        state.withLock { state in
            state.sleepers.values.map(\.deadline).min().map { state.instant.duration(to: $0) }
        }
    }

    /// Waits until at least so many tasks are asleep.
    public func waitForSleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isContent = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.waiters.append(Waiter(count: count, continuation: continuation))
                return false
            }
            if isContent { continuation.resume() }
        }
    }

    /// Sleeps until a test moves time far enough.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                enum Next { case sleep([Waiter]), wake, fail }
                let next = state.withLock { state -> Next in
                    if state.cancelled.remove(id) != nil { return .fail }
                    if deadline <= state.instant { return .wake }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    return .sleep(state.takeContentWaiters())
                }
                switch next {
                case .sleep(let content): for waiter in content { waiter.continuation.resume() }
                case .wake: continuation.resume()
                case .fail: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper }
                state.cancelled.insert(id)
                return nil
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        _ = state.withLock { $0.cancelled.remove(id) }
    }
}

extension Duration {
    /// The same in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
