/// Delivers for callers that wait for it.
extension Deliverer {
    /// No two runs of one flush follow each other more closely than this while the vendor doesn't answer.
    private static let leastBetweenRuns: Duration = .milliseconds(100)

    /// Delivers what can be delivered, and waits for that until the deadline.
    ///
    /// - Parameters:
    ///   - deadline: When it ends, whatever is under way.
    ///   - isPatient: Whether what may be tried again before the deadline is waited for; otherwise it ends with the first
    ///     run.
    func flush(by deadline: Instant, isPatient: Bool) async {
        let time = environment.time
        var hasOwnRun = false
        while schedule.holds.isEmpty, !Task.isCancelled {
            let began = time.instant
            let isOwn = !isRunning
            if isOwn, schedule.earliest(at: began) == nil {
                change { $0.force() }
            }
            if isRunning || schedule.earliest(at: began) == nil {
                guard await runEnded.wait(until: deadline, by: time) else { return }
            }
            // One that ran already may have looked into the store before the last events were there.
            if !isOwn, !schedule.isBackingOff || (!isPatient && !hasOwnRun) {
                hasOwnRun = true
                continue
            }
            guard isPatient, var next = wasBusy ? began : schedule.nextAttempt else { return }
            next = max(next, began.advanced(by: Self.leastBetweenRuns))
            guard next < deadline else { return }
            do { try await time.sleep(until: next) } catch { return }
        }
    }
}
