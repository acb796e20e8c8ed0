import Experimentation
import Synchronization

/// Passes one behavior through all plug-ins, within one time-out.
struct AugmentationRun: Sendable {
    /// How long to wait before asking again whether a plug-in is ready.
    static let pause = Duration.milliseconds(100)

    let plugins: [any AugmentationPlugin]
    let timeout: Duration
    let time: any TimeSource

    /// The result for a behavior.
    struct Outcome: Sendable, Hashable {
        var event: AugmentedEvent
        /// Whether the time ran out before all plug-ins had finished.
        var isExpired: Bool
    }

    /// How a run ended.
    private enum Ending { case complete, expired, cancelled }

    /// Completes behaviors concurrently; when the time runs out, additions by finished plug-ins stay.
    ///
    /// It ends at the deadline whatever a plug-in does on cancellation; later results are ignored.
    ///
    /// - Returns: The result for each; `nil` for those that weren't finished when the task was cancelled.
    func complete(_ events: [AugmentedEvent]) async -> [Outcome?] {
        guard !plugins.isEmpty else { return events.map { Outcome(event: $0, isExpired: false) } }
        let begun = time.instant
        let deadline = begun.advanced(by: timeout)
        guard begun < deadline else { return events.map { Outcome(event: $0, isExpired: true) } }
        let runs = events.map { (progress: Progress($0), race: AsyncRace<Ending>()) }
        let workers = runs.map { run in
            Task { run.race.finish(with: await takeThrough(run.progress, from: begun, until: deadline)) }
        }
        let time = time
        // The runs began together, so one timer serves all.
        let timer = Task {
            guard (try? await time.sleep(until: deadline)) != nil else { return }
            for run in runs { run.race.finish(with: .expired) }
        }
        defer {
            for worker in workers { worker.cancel() }
            timer.cancel()
        }
        var outcomes: [Outcome?] = []
        for run in runs {
            let ending = await run.race.winner() ?? .cancelled
            outcomes.append(
                ending == .cancelled ? nil : Outcome(event: run.progress.event, isExpired: ending == .expired)
            )
        }
        return outcomes
    }

    /// Passes a behavior from plug-in to plug-in.
    private func takeThrough(
        _ progress: Progress,
        from begun: ContinuousClock.Instant,
        until deadline: ContinuousClock.Instant
    ) async -> Ending {
        var queue = Array(plugins.indices)
        var place = 0
        while !queue.isEmpty {
            if Task.isCancelled { return .cancelled }
            if place >= queue.count {
                // All plug-ins that can be skipped have been; without a pause, this loop would spin.
                place = 0
                guard await pause(until: deadline) else { return .expired }
            }
            let plugin = plugins[queue[place]]
            let event = progress.event
            switch await plugin.readiness(for: event, waited: begun.duration(to: time.instant)) {
            case .never:
                queue.remove(at: place)
            case .ready:
                // An error leaves the behavior unchanged.
                progress.event = (try? await plugin.process(event)) ?? event
                queue.remove(at: place)
            case .notYet where plugin.isSynchronous:
                guard await pause(until: deadline) else { return .expired }
            case .notYet:
                place += 1
            }
        }
        return .complete
    }

    /// Waits briefly; returns `false` when the time has run out.
    private func pause(until deadline: ContinuousClock.Instant) async -> Bool {
        let next = min(time.instant.advanced(by: Self.pause), deadline)
        do { try await time.sleep(until: next) } catch { return false }
        return time.instant < deadline
    }

    /// The progress of a behavior.
    private final class Progress: Sendable {
        private let state: Mutex<AugmentedEvent>
        init(_ event: AugmentedEvent) { state = Mutex(event) }
        var event: AugmentedEvent {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }
}
