import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization

/// A clock that is interrupted once while it is read.
final class InterruptedTime: TimeSource {
    private struct State {
        var left = 0
        var interruption: @Sendable () -> Void = {}
    }

    let base = ManualTime()
    private let state = Mutex(State())

    /// Makes something happen while the clock is read for the nth time from now.
    func interrupt(_ number: Int, _ interruption: @escaping @Sendable () -> Void) {
        state.withLock { $0 = State(left: number, interruption: interruption) }
    }

    var now: Date { base.now }
    var instant: ContinuousClock.Instant {
        let interruption = state.withLock { state in
            state.left -= 1
            return state.left == 0 ? state.interruption : nil
        }
        interruption?()
        return base.instant
    }
    func sleep(until deadline: ContinuousClock.Instant) async throws { try await base.sleep(until: deadline) }
}
