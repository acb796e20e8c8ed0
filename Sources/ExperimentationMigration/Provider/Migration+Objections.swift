import Experimentation

extension Migration {
    /// Returns the objections to a stage.
    ///
    /// - Parameters:
    ///   - stage: The target stage.
    ///   - share: The target share.
    ///   - before: Where the move stands.
    ///   - isStart: Whether the client starts in this stage. An application must be able to start offline, so
    ///     what can't be checked is then only logged.
    /// - Returns: The reasons, for people; empty if the move may go there.
    func objections(
        to stage: MigrationStage,
        share: Double,
        from before: Standing,
        isStart: Bool = false
    ) async -> [String] {
        var reasons: [String] = []
        let isForward = stage.order > before.stage.order
        let raises = stage == before.stage && share > before.share
        if isForward || raises, let alarm = alarm(before) { reasons.append(alarm) }
        if isForward || isStart { reasons += missing(in: stage) }
        guard plan.reassignment == .refused, reasons.isEmpty else { return reasons }
        if stage.mayLead(.new), isForward || raises || isStart {
            reasons += await objectionsToLeading(isStart: isStart)
        }
        if stage == .complete, before.stage.leader == .old, !isStart, isCarrying {
            reasons.append(
                "users who come back only then would lose what \(old.name) has dealt them; go through live or rampDown"
            )
        }
        if takesFromUsers(to: stage, share: share, from: before) { reasons.append(taking) }
        return reasons
    }

    /// The objections to a stage that follow from what has happened to users alone.
    func objectionsForUsers(to stage: MigrationStage, share: Double, from before: Standing) -> [String] {
        let isForward = stage.order > before.stage.order || stage == before.stage && share > before.share
        if isForward, let alarm = alarm(before) { return [alarm] }
        guard plan.reassignment == .refused, takesFromUsers(to: stage, share: share, from: before) else { return [] }
        return [taking]
    }

    private func alarm(_ before: Standing) -> String? {
        guard plan.holdsOnAlarm, let tests = alarming(before) else { return nil }
        return "users don't fall where they should: the sample-ratio test alarms for \(tests)"
    }

    private func takesFromUsers(to stage: MigrationStage, share: Double, from before: Standing) -> Bool {
        before.hasDealt && !old.canBeTold && takesBack(to: stage, share: share, from: before)
    }

    private var taking: String {
        "\(old.name) can't be told which variations users have got from \(new.name) since; accept reassignment, or stay"
    }

    private var isCarrying: Bool { !plan.mapping.experiments.isEmpty && old.roles.decisions != nil }

    private func alarming(_ before: Standing) -> String? {
        let alarms = Set(before.alarms.filter { tally.applies($0, share: before.share) }.map(\.test))
        return alarms.isEmpty ? nil : alarms.sorted().joined(separator: ", ")
    }

    /// What a stage needs of the new vendor, whatever the plan accepts.
    private func missing(in stage: MigrationStage) -> [String] {
        if old.roles.decisions != nil, new.roles.decisions == nil, stage.hasShadow || stage.mayLead(.new) {
            return ["\(new.name) decides nothing"]
        }
        return []
    }

    /// Whether users whom the new vendor leads would be led by the old one.
    private func takesBack(to stage: MigrationStage, share: Double, from before: Standing) -> Bool {
        guard before.stage.mayLead(.new), stage.mayLead(.old) else { return false }
        if stage.leader == .old || before.stage.leader == .new { return true }
        return plan.pins == .ignored && share < before.share
    }

    /// Logs what a stage is meant for but the new vendor lacks, although the move may go there.
    func warn(of stage: MigrationStage) {
        guard stage == .dualWrite, old.roles.takesEvents, !new.roles.takesEvents else { return }
        environment.log.log(
            .warning,
            "migration.unsupported",
            "The stage \(stage) sends nothing to \(new.name), which takes no events."
        )
    }

    private func objectionsToLeading(isStart: Bool) async -> [String] {
        guard old.roles.decisions != nil else { return [] }
        var unknown: [String] = []
        var known: [MigrationSide: [VendorExperiment]] = [:]
        // Without a mapping, the new vendor's experiments aren't checked.
        for party in plan.mapping.experiments.isEmpty ? [old] : [old, new] where party.rules != nil {
            do throws(ExperimentationError) {
                known[party.side] = try await party.experiments()
                if known[party.side] == nil {
                    unknown.append(
                        "\(party.name) is disabled by its kill switch, so the mapping can't be checked; switch it on first"
                    )
                }
            } catch {
                unknown.append(
                    "the rules of \(party.name) can't be had now, so the mapping can't be checked: \(error.message)"
                )
            }
        }
        // A move to a vendor without experiments is hardly intended, and its users would see defaults.
        if known[.new]?.isEmpty == true {
            unknown.append(
                "\(new.name) has no experiments, so the mapping can't be checked; "
                    + "choose the right environment, or take what is finished out of the mapping"
            )
        }
        // Answers show experiments without their values, so only their presence is checked.
        var running = known[.old] ?? []
        if let seen = old.seen {
            do throws(ExperimentationError) {
                let found = try await seen.experiments()
                if found == nil {
                    unknown.append(
                        "no answer of \(old.name) has been seen, so its experiments aren't known; let users come first"
                    )
                }
                running = found ?? []
            } catch {
                unknown.append("the experiments of \(old.name) can't be read: \(error.message)")
            }
        }
        if isStart {
            for reason in unknown {
                environment.log.log(.warning, "migration.unchecked", "The move starts unchecked: \(reason)")
            }
            unknown = []
        }
        var reasons = unknown
        let open = plan.mapping.unmapped(of: running)
        if !open.isEmpty {
            let names = open.map(\.experiment.id).sorted().joined(separator: ", ")
            reasons.append("not mapped; map or finish first: \(names)" + (await waiting(for: open)))
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

    /// How long it takes until unmapped experiments that were finished at an asked vendor no longer hold the move.
    private func waiting(for open: [VendorExperiment]) async -> String {
        guard let hours = await old.seen?.hoursLeft(of: open) else { return "" }
        let time = hours > 0 ? "in \(hours) hours at the earliest" : "with its next answer at the earliest"
        return " (finished ones count as such once \(old.name) has answered users without them for a day, \(time))"
    }
}
