import Experimentation

/// Asks the vendor that leads the user, with places carried, and queues a shadow for the other one.
struct MigratingSource: DecisionSource {
    let migration: Migration
    let needsConsent: Bool
    let freshness: Freshness
    private var plan: MigrationPlan { migration.plan }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        try await migration.people.removals.watching(context.user.id) { watch throws(ExperimentationError) in
            try await decisions(for: context, watch)
        }
    }

    private func decisions(
        for context: EvaluationContext,
        _ watch: UserRemovals.Watch
    ) async throws(ExperimentationError) -> DecisionAnswer {
        let identity = context.user.identity
        try? await migration.people.removeOwed()
        for _ in 0..<8 {
            let standing = try await migration.current()
            let found = try await migration.people.find(identity)
            var person = found.person
            let side = side(of: &person, identity, standing)
            let learned = try await learn(&person, context, side, standing)
            let (told, carried) = tell(side, person, context)
            let party = migration.party(side)
            guard let answer = try await party.answer(for: told) else {
                return standing.stage.leader == nil ? .decided(off(party)) : .disabled
            }
            let dealt = answer.decisions.assignments
            let isChanged = !person.hasChanged && changes(dealt, of: person, by: side)
            if isChanged { person.hasChanged = true }
            let allocated = person.take(dealt, by: side, isSticky: party.policy.isSticky, in: plan.mapping)
            if side == .old { person.know(plan.mapping, overriddenBy: context.overrides) }
            if side == .new, allocated.keys.contains(where: { $0.hasPrefix("old/") }) {
                // Written before the user's record: a reader that finds the record must find this too.
                let now = try await migration.noteDealt()
                guard now.stage == standing.stage, now.share == standing.share else { continue }
            }
            if mayKeep(context.user), !watch.isRemoved {
                // If this fails, another instance has changed the record; decides again from what that instance wrote.
                guard try await keep(person, over: found, of: identity, watch) else { continue }
                if found.person.side == nil, let pinned = person.side { migration.tally.pin(pinned) }
                migration.tally.allocate(learned.merging(allocated) { $1 }, in: standing.stage)
            }
            migration.tally.add(latency: answer.latency, of: side)
            if isChanged { migration.tally.change() }
            try? await migration.noteAlarms()
            if context.user.consent == .denied {
                // Only the vendor that answers this user learns of them.
                heedStageFlag(answer, side, nil)
            } else {
                heedStageFlag(answer, side, tell(side.other, person, context).0)
                submitShadow(answer, side, person, context, told, standing)
            }
            return .decided(party.marked.mark(answer.decisions, carried: carried.groups, at: standing.stage))
        }
        throw ExperimentationError(.store, "Other instances keep changing the user's record of the move.")
    }

    // MARK: Sides

    private func side(
        of person: inout Person,
        _ identity: Identity,
        _ standing: Standing
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

    /// Writes a user's record, and removes it again if the user was removed meanwhile, even if the store failed during
    /// the write.
    ///
    /// - Returns: Whether the decision stands; if not, the record has to be read again.
    private func keep(
        _ person: Person,
        over found: People.Found,
        of identity: Identity,
        _ watch: UserRemovals.Watch
    ) async throws(ExperimentationError) -> Bool {
        let people = migration.people
        do throws(ExperimentationError) {
            if try await !people.write(person, over: found, of: identity) {
                if watch.isRemoved { try await people.withdrawAliases(of: identity, to: found.digest) }
                return false
            }
        } catch {
            guard watch.isRemoved else { throw error }
        }
        if watch.isRemoved { try await people.withdraw(identity, under: found.digest) }
        return true
    }

    // MARK: Carrying

    /// Asks the old vendor for a user's places, before the new vendor assigns any: once, and again after more
    /// experiments were mapped.
    ///
    /// - Returns: The places that are new.
    private func learn(
        _ person: inout Person,
        _ context: EvaluationContext,
        _ side: MigrationSide,
        _ standing: Standing
    ) async throws(ExperimentationError) -> [String: Person.Place] {
        guard side == .new, standing.stage != .complete, !person.knows(plan.mapping), plan.reassignment == .refused,
            !plan.mapping.experiments.isEmpty, migration.old.roles.decisions != nil
        else { return [:] }
        let (told, _) = tell(.old, person, context)
        let found: Party.Answer?
        do throws(ExperimentationError) {
            found = try await migration.old.answer(for: told)
        } catch {
            // An old vendor that no longer leads any user mustn't delay the new one's users.
            if standing.stage == .rampDown, error.code != .cancelled, !Task.isCancelled { return [:] }
            throw error
        }
        // While the old vendor is disabled its users have no places, so the new vendor may assign them.
        guard let answer = found else { return [:] }
        // Imported places win, because users have seen them, and a user who was outside stays outside; the old vendor fills in
        // the rest.
        let open = answer.decisions.assignments.filter { assignment in
            plan.mapping.experiment(ofGroup: assignment.group, at: .old).map { !person.isSettled($0) } ?? true
        }
        let new = person.take(open, by: .old, isSticky: true, in: plan.mapping)
        person.know(plan.mapping, overriddenBy: context.overrides)
        return new
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

    /// Whether a vendor shows a user something other than what the other vendor has shown.
    private func changes(_ dealt: [Assignment], of person: Person, by side: MigrationSide) -> Bool {
        dealt.contains { assignment in
            if assignment.isHoldout { return false }
            let key = Person.key(ofGroup: assignment.group, at: side, in: plan.mapping)
            if side == .new, person.isOutside(key) { return true }
            guard let place = person.places[key], place.by != side else { return false }
            let id = assignment.variation.id
            let own = side == .new ? plan.mapping.translate(id, ofGroup: assignment.group, from: .new) : id
            return own != place.variation
        }
    }

    // MARK: Switches and shadows

    /// Returns a disabled vendor's flags without values, which leaves them to the caller's defaults.
    private func off(_ party: Party) -> Decisions {
        Decisions(flags: party.lastKeys.map { ($0, Resolution(.null, reason: .disabled)) })
    }

    /// Follows the plan's stage flag; if its vendor doesn't lead this user, asks it in the shadow from time to time.
    ///
    /// - Parameters:
    ///   - answer: The answer of the vendor that leads.
    ///   - side: That vendor.
    ///   - told: The context in which the other one is asked; `nil` if it mustn't be.
    private func heedStageFlag(_ answer: Party.Answer, _ side: MigrationSide, _ told: EvaluationContext?) {
        guard let flag = plan.stageFlag else { return }
        if flag.side == side {
            return migration.heed(flag.key, in: answer)
        }
        guard let told, migration.party(flag.side).roles.decisions != nil, migration.isStageFlagDue() else { return }
        migration.shadows.submit(isComparison: false) { [migration] in
            guard let answer = try? await migration.party(flag.side).answer(for: told, isShadow: true) else { return }
            migration.heed(flag.key, in: answer)
        }
    }

    private func submitShadow(
        _ answer: Party.Answer,
        _ side: MigrationSide,
        _ person: Person,
        _ context: EvaluationContext,
        _ told: EvaluationContext,
        _ standing: Standing
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
        migration.shadows.submit(isComparison: true) { await shadow.compare(led) }
    }
}
