import Experimentation
import Synchronization

/// Checking and noting a plan that began while the store couldn't be read or written.
extension Migration {
    /// Reads the stored stage, and notes the plan if the store couldn't be told of it.
    func catchUp() async throws(ExperimentationError) {
        try await reread()
        if isUnnoted.withLock({ $0 }) { await notePlan() }
    }

    /// Has the plan checked as soon as the store can be read.
    func checkLater() { isUnchecked.withLock { $0 = true } }

    /// Whether a vendor may have users' events; either may while it isn't known where the move stands.
    func mayHaveReached(_ side: MigrationSide) -> Bool {
        standing.hasReached(side) || isUnchecked.withLock { $0 }
    }

    /// The plan in force, once it has been checked against what is stored: only then may it be written.
    func checkedPlan() async throws(ExperimentationError) -> MigrationPlan {
        if isUnchecked.withLock({ $0 }) { try await reread() }
        return planInForce
    }

    /// Goes back to the last plan that was applied if the one that this instance began with would be held now.
    func checkLate(against kept: Standing?) {
        let plan = planInForce
        let reasons = isUnchecked.withLock { isUnchecked -> [String] in
            guard isUnchecked else { return [] }
            isUnchecked = false
            guard let kept, kept.under(plan) != kept, let last = kept.plans.last else { return [] }
            let reasons = objectionsForUsers(to: plan.stage, share: plan.share, from: kept)
            if reasons.isEmpty { return [] }
            var former = plan
            (former.stage, former.share, former.revision) = (last.stage, last.share, last.revision ?? 0)
            planInForce = former
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
