import Experimentation
import Foundation
import Synchronization

extension Migration {
    /// Moves to another stage, forward or back.
    ///
    /// - Parameters:
    ///   - stage: The target stage; the current one to change only the share.
    ///   - share: The share of users that the new vendor leads in the stage `live`, from 0 to 1; unchanged if `nil`.
    /// - Throws: `ErrorCode.configuration` with all objections: experiments to finish first, unmapped variations, a
    ///   sample-ratio alarm. `ErrorCode.store` if the move can't be stored. In both cases nothing has changed.
    public func move(to stage: MigrationStage, share: Double? = nil) async throws(ExperimentationError) {
        try await move(to: stage, share: share, isOutside: false)
    }

    /// Moves to another stage.
    ///
    /// - Parameters:
    ///   - stage: The target stage.
    ///   - share: The share; unchanged if `nil`.
    ///   - isOutside: Whether no client runs here. If none does, a plan that isn't stored has moved no user; a client
    ///     goes by its plan even if it couldn't store the plan.
    /// - Throws: As ``move(to:share:)``.
    func move(to stage: MigrationStage, share: Double?, isOutside: Bool) async throws(ExperimentationError) {
        if let share, !(share.isFinite && (0...1).contains(share)) {
            throw ExperimentationError(.configuration, "The share: expected a number from 0 to 1, found \(share)")
        }
        try await noteAlarms()
        let after = try await record.update(under: checkedPlan()) { (standing, stored) throws(ExperimentationError) in
            let share = share ?? standing.share
            try await allow(stage, share: share, from: isOutside ? stored ?? .notBegun : standing)
            standing.go(to: stage, share: share)
        }
        hold([])
        adopt(after)
    }

    /// Goes to the stage and share of another version of the plan, which counts as applied from then on.
    ///
    /// Only the plan's stage, share and revision are taken over. The move stays where it stands if the plan is the last
    /// one that was applied, for example by another instance, because there may have been a move since. It also stays
    /// if another plan or a move is written while this call is under way.
    ///
    /// - Throws: As ``move(to:share:)``.
    public func follow(_ plan: MigrationPlan) async throws(ExperimentationError) {
        try plan.validate()
        try await noteAlarms()
        var (isApplied, isLate) = (false, false)
        var origin: Standing?
        let after = try await record.update(under: checkedPlan()) { (standing) throws(ExperimentationError) in
            isApplied = standing.plans.last == Standing.Planned(plan)
            if isApplied { return }
            isLate = origin.map { standing.hasGoneOn(since: $0) } ?? false
            if isLate { return standing.passOver(plan) }
            origin = origin ?? standing
            try await allow(plan.stage, share: plan.share, from: standing)
            standing.apply(plan)
        }
        planInForce = PlanInForce(plan, since: after)
        if !isApplied, !isLate { hold([]) }
        adopt(after)
        guard isApplied || isLate, (plan.stage, plan.share) != (after.stage, after.share) else { return }
        warn(of: plan, leftFor: after, isLate: isLate)
    }

    /// Moves to the stage that a flag's value names, unless the move has followed it or a later one.
    ///
    /// - Parameters:
    ///   - stage: The stage.
    ///   - share: The share; unchanged if `nil`.
    ///   - value: The flag's value.
    ///   - asked: When the flag's vendor was asked for it, at the earliest and at the latest.
    /// - Throws: As ``move(to:share:)``.
    func follow(
        _ stage: MigrationStage,
        share: Double?,
        by value: String,
        asked: ClosedRange<Date>
    ) async throws(ExperimentationError) {
        try await noteAlarms()
        let now = environment.time.now
        var isChange = false
        let after = try await record.update(under: checkedPlan()) { (standing) throws(ExperimentationError) in
            isChange = standing.flag?.isChanged(to: value, asked: asked, now: now) ?? true
            guard isChange else { return }
            let share = share ?? standing.share
            if stage != standing.stage || share != standing.share {
                try await allow(stage, share: share, from: standing)
                standing.go(to: stage, share: share)
            }
            standing.flag = FollowedFlag(value, asked: asked, after: standing.flag)
        }
        // Without a change, operators still need the reasons of an earlier refusal.
        if isChange { hold([]) }
        adopt(after)
    }

    /// Throws all objections to a stage, if there are any.
    private func allow(
        _ stage: MigrationStage,
        share: Double,
        from standing: Standing
    ) async throws(ExperimentationError) {
        let reasons = await objections(to: stage, share: share, from: standing)
        if reasons.isEmpty { return }
        hold(reasons)
        throw ExperimentationError(
            .configuration,
            "The move to \(stage) is held: " + reasons.joined(separator: "; ")
        )
    }

    /// Records that the plan is applied, so that instances with this plan follow later ones from then on; if that
    /// fails, the next reading of the stage tries again.
    func notePlan() async {
        // An unwritable store mustn't keep the application from starting.
        var isLate = false
        let standing = try? await record.update(under: checkedPlan()) { (_, stored) throws(ExperimentationError) in
            isLate = stored?.plans.contains(Standing.Planned(plan)) == false
        }
        isUnnoted.withLock { $0 = standing == nil }
        guard let standing else { return }
        adopt(standing)
        if standing.hasLeft(plan) { warn(of: plan, leftFor: standing, isLate: isLate) }
    }

    /// Logs that a plan changes nothing, because it was applied before or comes late.
    private func warn(of plan: MigrationPlan, leftFor standing: Standing, isLate: Bool) {
        let place = "\(standing.stage), with a share of \(standing.share)"
        environment.log.log(
            .warning,
            "migration.plan",
            isLate
                ? "The plan's stage \(plan.stage) comes late: meanwhile the move has gone to \(place). Move there, or raise "
                    + "the plan's revision."
                : "The plan's stage \(plan.stage) has been applied before; the move stays at \(place). Go back by a move, "
                    + "or raise the plan's revision."
        )
    }

    /// Records that the new vendor assigns a user on its own in a mapped experiment.
    ///
    /// - Returns: Where the move stands now.
    @discardableResult
    func noteDealt() async throws(ExperimentationError) -> Standing {
        if standing.hasDealt { return standing }
        let after = try await record.update(under: checkedPlan()) { $0.hasDealt = true }
        adopt(after)
        return after
    }

    /// Records alarms of this instance, for every other one and the next run.
    func noteAlarms() async throws(ExperimentationError) {
        let alarms = tally.alarms.filter { !standing.alarms.contains($0) }
        if alarms.isEmpty { return }
        adopt(
            try await record.update(under: checkedPlan()) { standing in
                for alarm in alarms where !standing.alarms.contains(alarm) { standing.alarms.append(alarm) }
            }
        )
    }
}
