import Experimentation
import Foundation
import Synchronization

/// Time that runs as it does and can be pushed forward: sockets need the first, cases the second.
///
/// A case that is about an hour's wait pushes an hour; whoever slept until then wakes at once.
public final class SuiteTime: TimeSource {
    private struct State {
        var pushed: Duration = .zero
        /// Who sleeps: from when, until when.
        var sleepers: [Int: (from: ContinuousClock.Instant, until: ContinuousClock.Instant)] = [:]
        var lastSleeper = 0
        /// How far the time of day was set back.
        var setBack: Duration = .zero
        /// Opened by the next push.
        var nextPush = AsyncGate()
    }

    private let state = Mutex(State())
    private let startDate: Date
    private let startInstant: ContinuousClock.Instant

    /// Creates time that begins at the machine's.
    public init() {
        startDate = Date()
        startInstant = ContinuousClock.now
    }

    /// The time of day, pushed as far as it has been.
    public var now: Date {
        startDate + Self.seconds(startInstant.duration(to: instant) - state.withLock { $0.setBack })
    }

    /// The machine's clock, pushed as far as it has been.
    public var instant: ContinuousClock.Instant {
        ContinuousClock.now.advanced(by: state.withLock { $0.pushed })
    }

    /// Pushes time forward and wakes whoever sleeps, to see whether it is time.
    public func push(by duration: Duration) {
        let push = state.withLock { state in
            state.pushed += duration
            defer { state.nextPush = AsyncGate() }
            return state.nextPush
        }
        push.open()
    }

    /// Sets the time of day back, as a person does, or a server that the device goes by; what is measured goes on.
    public func setBack(by duration: Duration) { state.withLock { $0.setBack += duration } }

    /// How long whoever fell asleep since a moment sleeps as a whole, the shortest first.
    public func sleeps(begunSince moment: ContinuousClock.Instant) -> [Duration] {
        state.withLock { state in
            state.sleepers.values.filter { $0.from >= moment }.map { $0.from.duration(to: $0.until) }.sorted()
        }
    }

    /// Sleeps until time has come, by itself or pushed.
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
            // Before the look at the time, so that no push is missed.
            let nextPush = state.withLock { $0.nextPush }
            let remaining = instant.duration(to: deadline)
            guard remaining > .zero else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: remaining, clock: .continuous) }
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
