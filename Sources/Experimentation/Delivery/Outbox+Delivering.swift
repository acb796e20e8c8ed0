/// Stopping deliveries, starting them, and waiting for them.
extension Outbox {
    /// The minimum time that the store gets to report whether it is empty, even when the deadline has passed.
    static let leastForStatus: Duration = .milliseconds(500)

    /// Sets or lifts a hold on deliveries.
    func set(_ hold: DeliverySchedule.Holds, _ isOn: Bool) {
        for (route, deliverer) in zip(routes, deliverers) where hold != .disabled || route.heedsKillSwitch {
            deliverer.set(hold, isOn)
        }
    }

    /// Retries after the vendor refused everything, because the application reports that the cause is gone.
    func resumeAfterRefusal() { for deliverer in deliverers { deliverer.resumeAfterRefusal() } }

    /// Carries out owed denials and delivers what an earlier run left.
    func resume() async {
        // What can't be read now is read by each delivery before it sends anything.
        try? await owed.carryOut()
        for deliverer in deliverers { await deliverer.resume() }
    }

    /// Delivers what can be delivered, and waits for it until the deadline; what isn't even stored by then is delivered
    /// afterwards.
    ///
    /// - Parameters:
    ///   - deadline: When it returns, whatever is under way.
    ///   - isPatient: Whether to wait for retries that are due before the deadline; otherwise everything is tried
    ///     once.
    /// - Returns: What is left.
    /// - Throws: ``ErrorCode/store``.
    func flush(by deadline: ContinuousClock.Instant, isPatient: Bool) async throws(ExperimentationError) -> FlushResult
    {
        let time = environment.time
        guard await time.ends(by: deadline, { await self.drain() }) else {
            deliverOnceStored()
            return .unknown
        }
        await withTaskGroup { group in
            for deliverer in deliverers {
                group.addTask { await deliverer.flush(by: deadline, isPatient: isPatient) }
            }
        }
        return try await remains(by: max(deadline, time.instant.advanced(by: Self.leastForStatus)))
    }

    /// Delivers the events that are still on their way to the store, for a caller that doesn't wait for it.
    private func deliverOnceStored() {
        intake.note(.mark) { [deliverers] _ in for deliverer in deliverers { deliverer.deliverNow() } }
    }

    /// What is left; unknown if the store doesn't answer in time.
    func remains(by deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> FlushResult {
        let isAnswered = AsyncGate()
        let question = Task { () -> Result<FlushResult, ExperimentationError> in
            defer { isAnswered.open() }
            do throws(ExperimentationError) {
                // Noted events that can't be stored aren't in the status. None are noted after the client's end.
                do throws(ExperimentationError) { try await self.untilStored() } catch {
                    if error.code != .shutDown { throw error }
                }
                return .success(FlushResult(try await self.status()))
            } catch {
                return .failure(error)
            }
        }
        guard await isAnswered.wait(until: deadline, by: environment.time) else { return .unknown }
        return try await question.value.get()
    }

    /// Ends deliveries and erases what was removed, at most until the deadline; waiting events stay in the store.
    func close(by deadline: ContinuousClock.Instant) async {
        intake.close()
        for deliverer in deliverers { await deliverer.close() }
        let isOver = AsyncGate()
        let ending = Task { [tasks, store] in
            for task in tasks { await task.value }
            try? await store.finishErasing()
            isOver.open()
        }
        await isOver.wait(until: deadline, by: environment.time)
        ending.cancel()
    }
}
