import Experimentation
import Synchronization

/// Reading where the move stands, even after the store couldn't be read or written at the beginning.
extension Migration {
    /// Reads the stored stage, and notes the plan if the store couldn't record it.
    func catchUp() async throws(ExperimentationError) {
        try await reread()
        if isUnnoted.withLock({ $0 }) { await notePlan() }
    }

    /// Lets the plan be checked as soon as the store can be read.
    func checkLater() { isUnchecked.withLock { $0 = true } }

    /// Whether a vendor may have users' events; either may while it isn't known where the move stands.
    func mayHaveReached(_ side: MigrationSide) -> Bool {
        standing.hasReached(side) || isUnchecked.withLock { $0 } || isBehind.withLock { $0 }
    }

    /// Reads where the move stands before an event is accepted: the event is owed to the vendors of the current stage.
    ///
    /// - Throws: ``ErrorCode/store`` if the stage has never been read and can't be read now: an event that one of the
    ///   two vendors is owed would be lost to it.
    func prepare(for event: TrackingEvent) async throws(ExperimentationError) {
        switch event.kind {
        // An exposure goes by its mark, in whichever stage.
        case .exposure: return
        case .consentChanged(granted: false):
            // Another instance may have moved a moment ago, and sent events of this user.
            do throws(ExperimentationError) { try await catchUp() } catch { isBehind.withLock { $0 = true } }
        default:
            do throws(ExperimentationError) { _ = try await current() } catch {
                if isUnchecked.withLock({ $0 }) { throw error }
            }
        }
    }

    /// The plan in force, once it has been checked against what is stored: only then may it be written.
    func checkedPlan() async throws(ExperimentationError) -> PlanInForce {
        if isUnchecked.withLock({ $0 }) { try await reread() }
        return planInForce
    }

    /// Goes back to the last plan that was applied if the one that this instance began with would be held now.
    func checkLate(against kept: Standing?) {
        let plan = planInForce.plan
        let reasons = isUnchecked.withLock { isUnchecked -> [String] in
            guard isUnchecked else { return [] }
            isUnchecked = false
            guard let kept, kept.under(plan) != kept, let last = kept.plans.last else { return [] }
            let reasons = objectionsForUsers(to: plan.stage, share: plan.share, from: kept)
            if reasons.isEmpty { return [] }
            var former = plan
            (former.stage, former.share, former.revision) = (last.stage, last.share, last.revision ?? 0)
            planInForce = PlanInForce(former, since: kept)
            return reasons
        }
        if reasons.isEmpty { return }
        hold(reasons)
        environment.log.log(
            .error,
            "migration.held",
            "The plan: \"stage\": \(plan.stage) is held: " + reasons.joined(separator: "; ")
        )
    }
}
