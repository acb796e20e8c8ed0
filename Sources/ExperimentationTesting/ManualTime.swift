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
        /// Counts up with whatever is asked of this time.
        var questions: UInt64 = 0

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
    public var now: Date { asked(\.now) }
    /// The moment.
    public var instant: ContinuousClock.Instant { asked(\.instant) }

    private func asked<Value>(_ value: (State) -> Value) -> Value {
        state.withLock { state in
            state.questions &+= 1
            return value(state)
        }
    }

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

    // MARK: Letting things settle

    /// How many turns in a row must pass without a request for the time.
    private static let quietTurns = 20
    /// How long a turn is at the least, so that work on other threads comes forward: in real time, whatever this one says.
    private static let turn: Duration = .milliseconds(1)

    /// Lets other tasks go on until they have nothing to do for a while but to sleep by this time or to wait for each other.
    ///
    /// For a test that shows that something doesn't happen, or that wants all of it to have happened. It can't know of a task
    /// that computes, or waits for a disk or a socket, for longer than some twenty milliseconds: where something is sure to
    /// come, wait for that instead. It ends at once when this task is cancelled.
    public func settle() async {
        var before = state.withLock { $0.questions }
        var quiet = 0
        while quiet < Self.quietTurns {
            for _ in 0..<10 { await Task.yield() }
            do { try await Task.sleep(for: Self.turn) } catch { return }
            let now = state.withLock { $0.questions }
            quiet = now == before ? quiet + 1 : 0
            before = now
        }
    }

    /// Moves time forward from one sleeper's end to the next, and lets things settle at each, so that whoever sleeps again
    /// on the way wakes again on the way.
    public func pass(_ duration: Duration) async {
        let end = state.withLock { $0.instant }.advanced(by: duration)
        while !Task.isCancelled {
            await settle()
            let (now, next) = state.withLock { state in
                (state.instant, state.sleepers.values.map(\.deadline).min().map { min($0, end) } ?? end)
            }
            advance(by: now.duration(to: max(next, now)))
            if next >= end { break }
        }
        await settle()
    }

    /// Sleeps until a test moves time far enough.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        try Task.checkCancellation()
        let sleeper = Sleeper(deadline: deadline)
        let (id, content) = state.withLock { state -> (UInt64?, [Waiter]) in
            state.questions &+= 1
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
            state.withLock { state in
                state.sleepers[id] = nil
                state.questions &+= 1
            }
        }
        guard isTime else { throw CancellationError() }
    }
}

extension Duration {
    /// The same in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
