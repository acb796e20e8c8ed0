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
        // The current run may have read the store before the last events were stored; the runs that follow haven't.
        var isOwn = !isRunning
        while alarm.holds.isEmpty, !Task.isCancelled {
            let began = time.instant
            // Checked together with the request: a hold that is set in between would leave the task at rest.
            if isRunning || alarm.change({ $0.flush(at: $1) }) {
                guard await runEnded.wait(until: deadline, by: time) else { return }
            }
            // Another run may have begun already.
            let schedule = isRunning ? ended : alarm.schedule
            defer { isOwn = true }
            if !isOwn, !schedule.isBackingOff || !isPatient { continue }
            guard isPatient, var next = schedule.nextAttempt(at: began) else { return }
            next = max(next, began.advanced(by: Self.leastBetweenRuns))
            guard next < deadline else { return }
            do { try await time.sleep(until: next) } catch { return }
        }
    }
}
