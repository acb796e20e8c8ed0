import Experimentation
import Foundation
import Synchronization

/// A clock that moves only when a test advances it.
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
        /// Counts every access to this clock.
        var questions: UInt64 = 0

        mutating func takeContentWaiters() -> [Waiter] {
            let count = sleepers.count
            let content = waiters.filter { $0.count <= count }
            waiters.removeAll { $0.count <= count }
            return content
        }
    }

    private let state: Mutex<State>

    /// Creates a clock that is stopped at a date.
    ///
    /// - Parameter now: The date; by default 21 November 2026, 10:00 UTC.
    public init(now: Date = Date(timeIntervalSince1970: 1_795_255_200)) {
        state = Mutex(State(now: now, instant: ContinuousClock.now))
    }

    /// The time of day.
    public var now: Date { asked(\.now) }
    /// The monotonic time.
    public var instant: ContinuousClock.Instant { asked(\.instant) }

    private func asked<Value>(_ value: (State) -> Value) -> Value {
        state.withLock { state in
            state.questions &+= 1
            return value(state)
        }
    }

    /// Advances both clocks and wakes due sleepers, earliest first.
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

    /// Sets the time of day alone, as when a user changes the clock; wakes no sleeper.
    public func setNow(_ now: Date) { state.withLock { $0.now = now } }

    /// The number of sleeping tasks.
    public var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The time until the first sleeper wakes; `nil` without sleepers.
    public var untilNextWake: Duration? {
        state.withLock { state in
            state.sleepers.values.map(\.deadline).min().map { state.instant.duration(to: $0) }
        }
    }

    /// Waits until at least this many tasks are asleep, or this task is cancelled.
    public func waitForSleepers(_ count: Int) async {
        let waiter = Waiter(count: count)
        state.withLock { state in
            if state.sleepers.count >= count { waiter.gate.open() } else { state.waiters.append(waiter) }
        }
        await waiter.gate.wait()
    }

    // MARK: Settling

    /// How many consecutive turns must pass without an access to the clock.
    private static let quietTurns = 20
    /// The minimum length of a turn in real time, so that work on other threads advances.
    private static let turn: Duration = .milliseconds(1)

    /// Lets other tasks run until, for a while, they only sleep on this clock or wait for each other.
    ///
    /// For a test that shows that something doesn't happen, or that needs everything to have happened. It doesn't
    /// notice a task that computes, or waits for a disk or a socket, for longer than about twenty milliseconds: wait
    /// for the expected result instead, where there is one. It returns at once when this task is cancelled.
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

    /// Advances time from one sleeper's deadline to the next, and settles at each, so that a task that sleeps again on
    /// the way also wakes again on the way.
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

    /// Does work, and lets the short times pass for which the work waits, such as those for which a client's start
    /// waits for a store that can't be read.
    ///
    /// - Parameters:
    ///   - longest: The longest of these times; a task that sleeps for longer isn't woken.
    ///   - work: The work.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws.
    package func passing<Value: Sendable, Problem: Error>(
        waitsUpTo longest: Duration = .milliseconds(20),
        _ work: @escaping @Sendable () async throws(Problem) -> Value
    ) async throws(Problem) -> Value {
        let hasEnded = AsyncGate()
        let working = Task { () -> Result<Value, Problem> in
            defer { hasEnded.open() }
            do throws(Problem) { return .success(try await work()) } catch { return .failure(error) }
        }
        while !hasEnded.isOpen, !Task.isCancelled {
            if let wait = untilNextWake, wait <= longest { advance(by: wait) }
            await Task.yield()
        }
        if Task.isCancelled { working.cancel() }
        return try await working.value.get()
    }

    /// Sleeps until a test advances time far enough.
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
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
