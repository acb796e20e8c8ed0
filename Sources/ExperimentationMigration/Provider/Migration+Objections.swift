import Experimentation

extension Migration {
    /// What stands against a stage.
    func objections(to stage: MigrationStage, from before: Standing) async -> [String] {
        var reasons: [String] = []
        let isForward = stage.order > before.stage.order
        if isForward, plan.holdsOnAlarm, tally.isAlarming {
            reasons.append("users don't fall where they should: the sample-ratio test alarms")
        }
        guard plan.reassignment == .refused else { return reasons }
        if stage.mayLead(.new), isForward || before.stage == stage, !before.stage.mayLead(.new) || isForward {
            reasons += await objectionsToLeading()
        }
        let isBack = before.stage.leader == .new && stage.mayLead(.old)
        if isBack, before.hasDealt, !old.canBeTold {
            reasons.append(
                "\(old.name) can't be told which variations users have got from \(new.name) since; accept reassignment, or stay"
            )
        }
        return reasons
    }

    private func objectionsToLeading() async -> [String] {
        guard old.roles.decisions != nil else { return [] }
        if new.roles.decisions == nil { return ["\(new.name) decides nothing"] }
        let known = await experiments(of: .old)
        let open = plan.mapping.unmapped(of: known)
        var reasons: [String] = []
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
            reasons = plan.mapping.faults(old: known, new: await experiments(of: .new)).map(\.description)
        }
        return reasons
    }
}
