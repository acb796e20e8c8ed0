import Experimentation

extension Migration {
    /// Returns the objections to a stage.
    ///
    /// - Parameters:
    ///   - stage: The target stage.
    ///   - before: The current standing.
    ///   - isStart: Whether the client starts in this stage. An application must be able to start offline, so
    ///     unavailable rules are then only logged.
    /// - Returns: The reasons, for people; empty if the move may go there.
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
        // Without a mapping, the new vendor's experiments aren't checked.
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
