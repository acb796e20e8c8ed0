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

    /// How it ended.
    private enum Ending { case complete, expired, cancelled }

    /// Completes one behaviour; `nil` if the task was cancelled.
    func complete(_ event: AugmentedEvent) async -> Outcome? { await complete([event]).first ?? nil }

    /// Completes behaviours, all at once and each by itself; what plug-ins that were through have added stays when the
    /// time is over.
    ///
    /// It ends at the deadline whatever a plug-in does with a cancellation; what comes later is not looked at.
    ///
    /// - Returns: What became of each; `nil` for those that weren't through when the task was cancelled.
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
        // They began together, so one alarm serves all.
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

    /// Takes a behaviour from plug-in to plug-in.
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
                // All that may be skipped have been: without a pause this would spin.
                place = 0
                guard await pause(until: deadline) else { return .expired }
            }
            let plugin = plugins[queue[place]]
            let event = progress.event
            switch await plugin.readiness(for: event, waited: begun.duration(to: time.instant)) {
            case .never:
                queue.remove(at: place)
            case .ready:
                // What is thrown leaves the behaviour as it was.
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

    /// Waits a little; `false` when the time is over.
    private func pause(until deadline: ContinuousClock.Instant) async -> Bool {
        let next = min(time.instant.advanced(by: Self.pause), deadline)
        do { try await time.sleep(until: next) } catch { return false }
        return time.instant < deadline
    }

    /// How far a behaviour has come.
    private final class Progress: Sendable {
        private let state: Mutex<AugmentedEvent>
        init(_ event: AugmentedEvent) { state = Mutex(event) }
        var event: AugmentedEvent {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }
}
