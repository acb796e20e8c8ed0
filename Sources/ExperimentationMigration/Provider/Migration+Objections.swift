import Experimentation

extension Migration {
    /// What stands against a stage.
    ///
    /// - Parameters:
    ///   - stage: The stage to go to.
    ///   - before: Where the move stands.
    ///   - isStart: Whether the client starts in this stage: an app that is offline has to start, so that rules which can't be
    ///     had are only logged.
    /// - Returns: One reason each, for a person; none if it may go there.
    func objections(to stage: MigrationStage, from before: Standing, isStart: Bool = false) async -> [String] {
        var reasons: [String] = []
        let isForward = stage.order > before.stage.order
        if isForward, plan.holdsOnAlarm, tally.isAlarming {
            reasons.append("users don't fall where they should: the sample-ratio test alarms")
        }
        guard plan.reassignment == .refused else { return reasons }
        if stage.mayLead(.new), isForward || before.stage == stage, !before.stage.mayLead(.new) || isForward {
            reasons += await objectionsToLeading(isStart: isStart)
        }
        let isBack = before.stage.leader == .new && stage.mayLead(.old)
        if isBack, before.hasDealt, !old.canBeTold {
            reasons.append(
                "\(old.name) can't be told which variations users have got from \(new.name) since; accept reassignment, or stay"
            )
        }
        return reasons
    }

    private func objectionsToLeading(isStart: Bool) async -> [String] {
        guard old.roles.decisions != nil else { return [] }
        if new.roles.decisions == nil { return ["\(new.name) decides nothing"] }
        var reasons: [String] = []
        var known: [MigrationSide: [VendorExperiment]] = [:]
        // Without a mapping nothing of the new vendor is compared.
        for party in plan.mapping.experiments.isEmpty ? [old] : [old, new] {
            do throws(ExperimentationError) {
                known[party.side] = try await party.experiments()
            } catch {
                let reason =
                    "the rules of \(party.name) can't be had now, so the mapping can't be checked: \(error.message)"
                if isStart {
                    environment.log.log(.warning, "migration.unchecked", "The move starts unchecked: \(reason)")
                } else {
                    reasons.append(reason)
                }
            }
        }
        let open = plan.mapping.unmapped(of: known[.old] ?? [])
        if !open.isEmpty {
            reasons.append(
                "not mapped; map or finish first: " + open.map(\.experiment.id).sorted().joined(separator: ", ")
            )
        }
        if !new.canBeTold, !plan.mapping.experiments.isEmpty {
            let running = plan.mapping.experiments.map(\.old.experiment).sorted().joined(separator: ", ")
            reasons.append(
                "\(new.name) can't be told which variations users have; finish first, or accept reassignment: \(running)"
            )
        }
        if reasons.isEmpty {
            reasons = plan.mapping.faults(old: known[.old] ?? [], new: known[.new] ?? []).map(\.description)
        }
        return reasons
    }
}
