import Experimentation
import Synchronization

/// Takes one behaviour through all plug-ins, within one time-out.
struct AugmentationRun: Sendable {
    /// How often what wasn't ready is asked again.
    static let pause = Duration.milliseconds(100)

    let plugins: [any AugmentationPlugin]
    let timeout: Duration
    let time: any TimeSource

    /// What became of a behaviour.
    struct Outcome: Sendable, Hashable {
        var event: AugmentedEvent
        /// Whether the time was over before all plug-ins were through.
        var isExpired: Bool
    }

    /// Completes a behaviour; what plug-ins that were through have added stays when the time is over.
    ///
    /// - Returns: `nil` if the task was cancelled.
    func complete(_ event: AugmentedEvent) async -> Outcome? {
        guard !plugins.isEmpty else { return Outcome(event: event, isExpired: false) }
        let begun = time.instant
        let deadline = begun.advanced(by: timeout)
        var event = event
        var queue = Array(plugins.indices)
        var place = 0
        while !queue.isEmpty {
            if Task.isCancelled { return nil }
            if place >= queue.count {
                // Everybody who may be passed over was: without a pause this would spin.
                place = 0
                guard await pause(until: deadline) else { return Outcome(event: event, isExpired: true) }
            }
            let plugin = plugins[queue[place]]
            let waited = begun.duration(to: time.instant)
            let current = event
            let readiness = await within(deadline) { await plugin.readiness(for: current, waited: waited) }
            switch readiness {
            case nil: return Task.isCancelled ? nil : Outcome(event: event, isExpired: true)
            case .never:
                queue.remove(at: place)
            case .ready:
                let processed = await within(deadline) { () async -> AugmentedEvent in
                    // What is thrown leaves the behaviour as it was.
                    (try? await plugin.process(current)) ?? current
                }
                guard let processed else { return Task.isCancelled ? nil : Outcome(event: event, isExpired: true) }
                event = processed
                queue.remove(at: place)
            case .notYet where plugin.isSynchronous:
                guard await pause(until: deadline) else { return Outcome(event: event, isExpired: true) }
            case .notYet:
                place += 1
            }
        }
        return Outcome(event: event, isExpired: false)
    }

    /// Waits a little; `false` when the time is over.
    private func pause(until deadline: ContinuousClock.Instant) async -> Bool {
        let next = min(time.instant.advanced(by: Self.pause), deadline)
        do { try await time.sleep(until: next) } catch { return false }
        return time.instant < deadline
    }

    /// Waits for a plug-in, but not longer than until the deadline, whatever the plug-in does with a cancellation.
    private func within<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        guard time.instant < deadline else { return nil }
        let race = Race<Value>()
        let worker = Task { race.finish(with: await work()) }
        let time = time
        let timer = Task {
            guard (try? await time.sleep(until: deadline)) != nil else { return }
            race.finish(with: nil)
        }
        defer {
            worker.cancel()
            timer.cancel()
        }
        return await withTaskCancellationHandler {
            await race.winner()
        } onCancel: {
            race.finish(with: nil)
        }
    }

    /// Whoever finishes first.
    private final class Race<Value: Sendable>: Sendable {
        private enum State {
            case open
            case awaited(CheckedContinuation<Value?, Never>)
            case decided(Value?)
        }
        private let state = Mutex(State.open)

        func finish(with value: Value?) {
            let waiter = state.withLock { state -> CheckedContinuation<Value?, Never>? in
                switch state {
                case .open:
                    state = .decided(value)
                    return nil
                case .awaited(let continuation):
                    state = .decided(value)
                    return continuation
                case .decided: return nil
                }
            }
            waiter?.resume(returning: value)
        }

        func winner() async -> Value? {
            await withCheckedContinuation { continuation in
                let decided = state.withLock { state -> Value?? in
                    if case .decided(let value) = state { return .some(value) }
                    state = .awaited(continuation)
                    return .none
                }
                if case .some(let value) = decided { continuation.resume(returning: value) }
            }
        }
    }
}
