import Experimentation
import Foundation
import Synchronization

/// Time that runs as it does and can be pushed forward: sockets need the first, cases the second.
///
/// A case that is about an hour's wait pushes an hour; whoever slept until then wakes at once.
public final class SuiteTime: TimeSource {
    private struct State {
        var pushed: Duration = .zero
        var sleepers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var gone: Set<UInt64> = []
        var nextID: UInt64 = 0
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
        startDate + Self.seconds(startInstant.duration(to: instant))
    }

    /// The machine's clock, pushed as far as it has been.
    public var instant: ContinuousClock.Instant {
        ContinuousClock.now.advanced(by: state.withLock { $0.pushed })
    }

    /// Pushes time forward and wakes whoever sleeps, to see whether it is time.
    public func push(by duration: Duration) {
        let sleepers = state.withLock { state in
            state.pushed += duration
            defer { state.sleepers = [:] }
            return state.sleepers.values
        }
        for sleeper in sleepers { sleeper.resume() }
    }

    /// Sleeps until time has come, by itself or pushed.
    public func sleep(until deadline: ContinuousClock.Instant) async throws {
        while true {
            try Task.checkCancellation()
            let pushed = state.withLock { $0.pushed }
            let remaining = instant.duration(to: deadline)
            guard remaining > .zero else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: remaining, clock: .continuous) }
                group.addTask { await self.waitForPush(beyond: pushed) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func waitForPush(beyond pushed: Duration) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.gone.remove(id) != nil || state.pushed != pushed { return true }
                    state.sleepers[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                if let sleeper = state.sleepers.removeValue(forKey: id) {
                    return sleeper as CheckedContinuation<Void, Never>?
                }
                state.gone.insert(id)
                return nil
            }
            sleeper?.resume()
        }
        state.withLock { _ = $0.gone.remove(id) }
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
