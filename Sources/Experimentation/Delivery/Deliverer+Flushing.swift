/// Delivery on behalf of callers that wait for it.
extension Deliverer {
    /// The shortest time between two runs of one flush while the vendor doesn't answer.
    private static let leastBetweenRuns: Duration = .milliseconds(100)

    /// Delivers what can be delivered, and waits for it until the deadline.
    ///
    /// - Parameters:
    ///   - deadline: When it returns, whatever is under way.
    ///   - isPatient: Whether to wait for retries that are due before the deadline; otherwise it returns after the
    ///     first run.
    func flush(by deadline: Instant, isPatient: Bool) async {
        let time = environment.time
        var hasOwnRun = false
        while alarm.holds.isEmpty, !Task.isCancelled {
            let began = time.instant
            let isOwn = !isRunning
            let mayRun = alarm.schedule.earliest(at: began) == nil
            if isOwn, mayRun { deliverNow() }
            if isRunning || mayRun {
                guard await runEnded.wait(until: deadline, by: time) else { return }
            }
            // The current run may have read the store before the last events were stored.
            let schedule = alarm.schedule
            if !isOwn, !schedule.isBackingOff || (!isPatient && !hasOwnRun) {
                hasOwnRun = true
                continue
            }
            guard isPatient, var next = schedule.nextAttempt(at: began) else { return }
            next = max(next, began.advanced(by: Self.leastBetweenRuns))
            guard next < deadline else { return }
            do { try await time.sleep(until: next) } catch { return }
        }
    }
}
