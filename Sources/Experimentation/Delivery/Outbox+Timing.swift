import Synchronization

/// When to deliver: by count, by age, after a pause, and because somebody waits for it.
extension Outbox {
    var policy: BatchPolicy { sink?.batching ?? BatchPolicy() }

    /// Starts a delivery if enough waits, or sets the timer for when the oldest has waited long enough.
    func deliverWhenDue() {
        guard sink != nil, pauses.isEmpty, waiting > 0, drain == nil else { return }
        let now = environment.time.instant
        if let outageEnds, outageEnds > now {
            setTimer(outageEnds)
        } else if waiting >= policy.count {
            startDrain()
        } else {
            setTimer(now.advanced(by: policy.interval))
        }
    }

    /// Sees to it that a delivery begins at a moment, if none does before.
    func setTimer(_ deadline: ContinuousClock.Instant) {
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = Task { [environment] in
            do { try await environment.time.sleep(until: deadline) } catch { return }
            self.timerFired(deadline)
        }
    }

    private func timerFired(_ deadline: ContinuousClock.Instant) {
        guard timerDeadline == deadline else { return }
        timer = nil
        timerDeadline = nil
        guard pauses.isEmpty, drain == nil else { return }
        if let outageEnds, outageEnds > environment.time.instant { return setTimer(outageEnds) }
        startDrain()
    }

    @discardableResult
    func startDrain() -> Task<Void, Never> {
        if let drain { return drain }
        timer?.cancel()
        timer = nil
        timerDeadline = nil
        let task = Task {
            let next = await self.deliverAll()
            self.drainEnded(next)
        }
        drain = task
        return task
    }

    private func drainEnded(_ next: ContinuousClock.Instant?) {
        drain = nil
        nextRound = next
        guard pauses.isEmpty else { return }
        if let next { setTimer(next) }
        deliverWhenDue()
    }

    // MARK: Flushing

    /// No two rounds of one flush follow each other more closely than this while the vendor doesn't answer.
    private static let leastBetweenRounds: Duration = .milliseconds(100)

    /// Delivers what can be delivered, and waits for that until the deadline.
    ///
    /// - Parameters:
    ///   - deadline: When it ends, whatever is under way.
    ///   - isPatient: Whether what may be tried again before the deadline is waited for; otherwise it ends with the first
    ///     round.
    /// - Returns: Whether nothing is left that could have been delivered.
    /// - Throws: ``ErrorCode/store``.
    func flush(
        by deadline: ContinuousClock.Instant,
        isPatient: Bool = true
    ) async throws(ExperimentationError) -> Bool {
        let time = environment.time
        if takingNoted != nil || intake.withLock({ !$0.isEmpty }) {
            await Self.wait(for: Task { await self.takeInNoted() }, until: deadline, by: time)
            if takingNoted != nil, time.instant >= deadline { return false }
        }
        // Without patience it has one round of its own, also where others follow each other without a pause.
        var hasWaited = false
        while sink != nil, pauses.isEmpty, !Task.isCancelled {
            let began = time.instant
            let before = settled
            let earlier = drain
            await Self.wait(for: earlier ?? startDrain(), until: deadline, by: time)
            if time.instant >= deadline || !pauses.isEmpty { break }
            // One that ran already may have looked into the store before the last events were there.
            if earlier != nil, failures == 0 || (!isPatient && !hasWaited) {
                hasWaited = true
                continue
            }
            if try await isEmpty(by: deadline) { return true }
            guard isPatient else { break }
            if let next = nextRound {
                let next = max(next, began.advanced(by: Self.leastBetweenRounds))
                guard next < deadline else { break }
                do { try await time.sleep(until: next) } catch { break }
            } else if settled == before {
                // Nothing happened and nothing is to be waited for.
                break
            }
        }
        return try await isEmpty(by: deadline)
    }

    /// How long the store may take at the least to say whether it is empty, also where the deadline has come.
    private static let leastForStatus: Duration = .milliseconds(500)

    /// Whether nothing is left that could be delivered.
    ///
    /// - Parameter deadline: When the question is given up; the answer is no then.
    /// - Returns: Whether that is so.
    /// - Throws: ``ErrorCode/store``.
    private func isEmpty(by deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> Bool {
        let time = environment.time
        let asked = Asked()
        let task = Task { [store] in
            do throws(ExperimentationError) {
                let status = try await store.status(now: time.now)
                asked.answer.withLock { $0 = .success(status) }
            } catch {
                asked.answer.withLock { $0 = .failure(error) }
            }
        }
        await Self.wait(for: task, until: max(deadline, time.instant.advanced(by: Self.leastForStatus)), by: time)
        guard let status = try asked.answer.withLock({ $0 })?.get() else { return false }
        return status.ready + status.leased + status.delayed == 0
    }

    /// What the store said, if it has.
    private final class Asked: Sendable {
        let answer = Mutex<Result<OutboxStatus, ExperimentationError>?>(nil)
    }

    /// Waits for a task, but not beyond the deadline; the task goes on.
    private static func wait(
        for task: Task<Void, Never>,
        until deadline: ContinuousClock.Instant,
        by time: any TimeSource
    ) async {
        let gate = OneShot()
        let watcher = Task {
            await task.value
            gate.open()
        }
        let alarm = Task {
            try? await time.sleep(until: deadline)
            gate.open()
        }
        await gate.wait()
        alarm.cancel()
        watcher.cancel()
    }

    // MARK: After a refusal of everything

    /// Has the vendor tried again after a long time: keys are renewed and contracts mended while applications run.
    func setProbe() {
        let wait = RetrySchedule.probe(afterStops: stops, jitter: environment.jitter())
        let deadline = environment.time.instant.advanced(by: wait)
        probe?.cancel()
        probe = Task { [weak self, environment] in
            do { try await environment.time.sleep(until: deadline) } catch { return }
            await self?.probeFired()
        }
    }

    private func probeFired() {
        guard pauses.contains(.stopped), !pauses.contains(.closed) else { return }
        isProbing = true
        setPause(.stopped, false)
    }
}
