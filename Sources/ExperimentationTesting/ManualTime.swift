import Experimentation
import Foundation
import Synchronization

/// Time that moves only when a test advances it.
///
/// ```swift
/// let time = ManualTime()
/// let client = try await ExperimentationClient(provider: provider, environment: ClientEnvironment(time: time))
/// await time.waitForSleepers(1)
/// time.advance(by: .seconds(60))
/// ```
public final class ManualTime: TimeSource {
    private struct Sleeper {
        var deadline: ContinuousClock.Instant
        let gate = AsyncGate()
    }

    private struct Waiter {
        var count: Int
        let gate = AsyncGate()
    }

    private struct State {
        var now: Date
        var instant: ContinuousClock.Instant
        var sleepers: [UInt64: Sleeper] = [:]
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

    /// Creates time that is stopped at a date.
    ///
    /// - Parameter now: The date; 21 November 2026, 10:00 UTC, unless another is named.
    public init(now: Date = Date(timeIntervalSince1970: 1_795_255_200)) {
        state = Mutex(State(now: now, instant: ContinuousClock.now))
    }

    /// The time of day.
    public var now: Date { state.withLock { $0.now } }
    /// The moment.
    public var instant: ContinuousClock.Instant { state.withLock { $0.instant } }

    /// Moves both clocks and wakes due sleepers, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.instant = state.instant.advanced(by: duration)
            state.now += duration.seconds
            let due = state.sleepers.filter { $0.value.deadline <= state.instant }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.gate.open() }
    }

    /// Sets the time of day alone, as a user does who changes the clock; wakes no sleeper.
    public func setNow(_ now: Date) { state.withLock { $0.now = now } }

    /// How many tasks are asleep.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The time until the first sleeper wakes; `nil` without sleepers.
    public var untilNextWake: Duration? {
        state.withLock { state in
            state.sleepers.values.map(\.deadline).min().map { state.instant.duration(to: $0) }
        }
    }

    /// Waits until at least so many tasks are asleep, or this task is cancelled.
    public func waitForSleepers(_ count: Int) async {
        let waiter = Waiter(count: count)
        state.withLock { state in
            if state.sleepers.count >= count { waiter.gate.open() } else { state.waiters.append(waiter) }
        }
        await waiter.gate.wait()
    }

    /// Sleeps until a test moves time far enough.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        let sleeper = Sleeper(deadline: deadline)
        let (id, content) = state.withLock { state -> (UInt64?, [Waiter]) in
            if deadline <= state.instant { return (nil, []) }
            state.nextID += 1
            state.sleepers[state.nextID] = sleeper
            return (state.nextID, state.takeContentWaiters())
        }
        guard let id else { return }
        for waiter in content { waiter.gate.open() }
        let isTime = await withTaskCancellationHandler {
            await sleeper.gate.wait()
        } onCancel: {
            state.withLock { $0.sleepers[id] = nil }
        }
        guard isTime else { throw CancellationError() }
    }
}

extension Duration {
    /// The same in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
