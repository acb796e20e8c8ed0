import Experimentation

/// Asks the vendor that leads the user, with places carried, and queues a shadow for the other one.
struct MigratingSource: DecisionSource {
    let migration: Migration
    let needsConsent: Bool
    let freshness: Freshness
    private var plan: MigrationPlan { migration.plan }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let identity = context.user.identity
        for _ in 0..<8 {
            let standing = try await migration.current()
            let found = try await migration.people.find(identity)
            var person = found.person
            let side = side(of: &person, identity, standing)
            let isNewlyPinned = person.side != nil && found.person.side == nil
            try await learn(&person, context, side, standing)
            let (told, carried) = tell(side, person, context)
            let party = migration.party(side)
            guard let answer = try await party.answer(for: told) else {
                return standing.stage.leader == nil ? .decided(off(party)) : .disabled
            }
            let dealt = answer.decisions.assignments
            let isSticky = party.policy.isSticky
            let before = person
            let allocated = person.take(dealt, by: side, isSticky: isSticky, in: plan.mapping)
            if side == .old { person.isKnown = true }
            if mayKeep(context.user), !(try await migration.people.write(person, over: found, of: identity)) {
                // Another instance has changed the record; decides again from what it wrote.
                continue
            }
            if isNewlyPinned, let pinned = person.side { migration.tally.pin(pinned) }
            migration.tally.allocate(allocated, in: standing.stage)
            migration.tally.add(latency: answer.latency, of: side)
            if side == .new, allocated.keys.contains(where: { $0.hasPrefix("old/") }) { await migration.noteDealt() }
            noteChanges(before, dealt, side)
            heedStageFlag(answer.decisions, side, tell(side.other, person, context).0)
            submitShadow(answer, side, person, context, told, standing)
            return .decided(party.marked.mark(answer.decisions, carried: carried.groups))
        }
        throw ExperimentationError(.store, "Other instances keep changing the user's record of the move.")
    }

    // MARK: Sides

    private func side(
        of person: inout Person,
        _ identity: Identity,
        _ standing: Migration.Standing
    ) -> MigrationSide {
        if let leader = standing.stage.leader { return leader }
        let drawn = StableKey(identity).side(share: standing.share, salt: plan.salt)
        if plan.pins == .ignored { person.side = drawn }
        let side = person.side ?? drawn
        person.side = side
        return side
    }

    /// Whether the user's consent allows a record.
    private func mayKeep(_ user: User) -> Bool {
        user.consent == .granted || (user.consent == .unknown && !needsConsent)
    }

    // MARK: Carrying

    /// Asks the old vendor once for a user's places, before the new vendor assigns any.
    private func learn(
        _ person: inout Person,
        _ context: EvaluationContext,
        _ side: MigrationSide,
        _ standing: Migration.Standing
    ) async throws(ExperimentationError) {
        guard side == .new, standing.stage == .live, !person.isKnown, plan.reassignment == .refused,
            !plan.mapping.experiments.isEmpty, migration.old.roles.decisions != nil
        else { return }
        let (told, _) = tell(.old, person, context)
        // While the old vendor is disabled its users have no places, so the new vendor may assign them.
        guard let answer = try await migration.old.answer(for: told) else { return }
        // Imported places win, because users have seen them; the old vendor fills in the rest.
        migration.tally.allocate(
            person.take(answer.decisions.assignments, by: .old, isSticky: true, in: plan.mapping),
            in: standing.stage
        )
        person.isKnown = true
    }

    /// Returns the context with the places that a vendor must be told.
    private func tell(
        _ side: MigrationSide,
        _ person: Person,
        _ context: EvaluationContext
    ) -> (EvaluationContext, Carried) {
        let policy = migration.party(side).policy
        var carried = person.carried(to: side, policy: policy, in: plan.mapping)
        if plan.reassignment == .accepted {
            carried.overrides = []
            for group in carried.groups { carried.earlier[group] = nil }
            carried.groups = []
        }
        var told = context
        told.earlierAssignments = context.earlierAssignments.merging(carried.earlier) { $1 }
        // The device's own overrides come last and win.
        told.overrides = policy.allowsOverrides ? carried.overrides + context.overrides : []
        return (told, carried)
    }

    private func noteChanges(_ person: Person, _ dealt: [Assignment], _ side: MigrationSide) {
        for assignment in dealt where !assignment.isHoldout {
            let key = Person.key(ofGroup: assignment.group, at: side, in: plan.mapping)
            guard let place = person.places[key], place.by != side else { continue }
            let id = assignment.variation.id
            let own = side == .new ? plan.mapping.translate(id, ofGroup: assignment.group, from: .new) : id
            if own != place.variation { migration.tally.change() }
        }
    }

    // MARK: Switches and shadows

    /// Returns a disabled vendor's flags without values, which leaves them to the caller's defaults.
    private func off(_ party: Party) -> Decisions {
        Decisions(flags: party.lastKeys.map { ($0, Resolution(.null, reason: .disabled)) })
    }

    /// Follows the plan's stage flag; if its vendor doesn't lead this user, asks it in the shadow from time to time.
    private func heedStageFlag(_ decisions: Decisions, _ side: MigrationSide, _ told: EvaluationContext) {
        guard let flag = plan.stageFlag else { return }
        if flag.side == side { return migration.heed(decisions[flag.key]?.value.stringValue) }
        guard migration.party(flag.side).roles.decisions != nil, migration.isStageFlagDue() else { return }
        migration.shadows.submit { [migration] in
            let answer = try? await migration.party(flag.side).answer(for: told, isShadow: true)
            migration.heed(answer?.decisions[flag.key]?.value.stringValue)
        }
    }

    private func submitShadow(
        _ answer: Party.Answer,
        _ side: MigrationSide,
        _ person: Person,
        _ context: EvaluationContext,
        _ told: EvaluationContext,
        _ standing: Migration.Standing
    ) {
        let other = migration.party(side.other)
        guard standing.stage.hasShadow, other.roles.decisions != nil else { return }
        let contexts = [side: told, side.other: tell(side.other, person, context).0]
        let led = Shadow.Led(
            side: side,
            answer: answer,
            contexts: contexts,
            user: StableKey(context.user.identity).digest
        )
        let shadow = Shadow(
            old: migration.old,
            new: migration.new,
            plan: plan,
            time: migration.environment.time,
            tally: migration.tally
        )
        migration.shadows.submit { await shadow.compare(led) }
    }
}
