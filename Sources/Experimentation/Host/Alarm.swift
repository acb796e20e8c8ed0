import Synchronization

/// Wakes its owner at a moment that may change: the last one set counts.
package final class Alarm: Sendable {
    private struct State {
        var moment: ContinuousClock.Instant
        var task: Task<Void, Never>
    }

    private let time: any TimeSource
    private let state = Mutex<State?>(nil)

    /// Creates an alarm without a moment.
    package init(by time: any TimeSource) { self.time = time }

    deinit { state.withLock { $0?.task.cancel() } }

    /// Replaces the moment; `nil` removes it.
    ///
    /// - Parameters:
    ///   - moment: The moment; setting the same one again changes nothing.
    ///   - ring: Called at the moment, unless another is set by then.
    package func set(to moment: ContinuousClock.Instant?, _ ring: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            if moment == state?.moment { return }
            state?.task.cancel()
            state = moment.map { moment in
                let task = Task { [time, weak self] in
                    do { try await time.sleep(until: moment) } catch { return }
                    if self?.end(of: moment) == true { await ring() }
                }
                return State(moment: moment, task: task)
            }
        }
    }

    /// Forgets a moment that has come.
    ///
    /// - Returns: Whether it is still the one that is set.
    private func end(of moment: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard state?.moment == moment else { return false }
            state = nil
            return true
        }
    }
}
