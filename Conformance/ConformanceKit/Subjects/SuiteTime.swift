import Experimentation
import Foundation
import Synchronization

/// Time that runs by itself and can be pushed forward: sockets need the one, cases the other.
///
/// A case about an hour's wait pushes an hour; sleepers that are due then wake immediately. The slower it runs, the
/// less depends on the speed of the machine between two pushes.
public final class SuiteTime: TimeSource {
    private struct State {
        var pushed: Duration = .zero
        /// The sleepers, each with its start and end.
        var sleepers: [Int: (from: ContinuousClock.Instant, until: ContinuousClock.Instant)] = [:]
        var lastSleeper = 0
        /// How far the wall clock was set back.
        var setBack: Duration = .zero
        /// Opened by the next push.
        var nextPush = AsyncGate()
    }

    private let state = Mutex(State())
    private let startDate: Date
    private let startInstant: ContinuousClock.Instant
    private let speed: Double

    /// Creates time that starts at the machine's current time.
    ///
    /// - Parameter speed: The seconds that pass by themselves in a second of the machine's clock; above 0.
    public init(speed: Double = 1) {
        self.speed = speed
        startDate = Date()
        startInstant = ContinuousClock.now
    }

    /// The wall clock, including all pushes.
    public var now: Date {
        startDate + Self.seconds(startInstant.duration(to: instant) - state.withLock { $0.setBack })
    }

    /// The monotonic clock, including all pushes.
    public var instant: ContinuousClock.Instant {
        startInstant.advanced(by: startInstant.duration(to: .now) * speed + state.withLock { $0.pushed })
    }

    /// Pushes time forward and wakes all sleepers to check their deadlines.
    public func push(by duration: Duration) {
        let push = state.withLock { state in
            state.pushed += duration
            defer { state.nextPush = AsyncGate() }
            return state.nextPush
        }
        push.open()
    }

    /// Sets the wall clock back, as a person or a time server may; the monotonic clock isn't affected.
    public func setBack(by duration: Duration) { state.withLock { $0.setBack += duration } }

    /// The full durations of the sleeps begun since a moment, shortest first.
    public func sleeps(begunSince moment: ContinuousClock.Instant) -> [Duration] {
        state.withLock { state in
            state.sleepers.values.filter { $0.from >= moment }.map { $0.from.duration(to: $0.until) }.sorted()
        }
    }

    /// Whether a sleeper whose deadline is reached hasn't woken yet.
    public var hasDueSleepers: Bool {
        let now = instant
        return state.withLock { $0.sleepers.values.contains { $0.until <= now } }
    }

    /// Sleeps until the deadline is reached, by itself or by a push.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        let began = instant
        let sleeper = state.withLock { state in
            state.lastSleeper += 1
            state.sleepers[state.lastSleeper] = (began, deadline)
            return state.lastSleeper
        }
        defer { state.withLock { $0.sleepers[sleeper] = nil } }
        while true {
            try Task.checkCancellation()
            // Taken before the time is checked, so that no push is missed.
            let nextPush = state.withLock { $0.nextPush }
            let remaining = instant.duration(to: deadline)
            guard remaining > .zero else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { [speed] in try await Task.sleep(for: remaining / speed, clock: .continuous) }
                group.addTask { await nextPush.wait() }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
