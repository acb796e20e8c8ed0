import Experimentation

/// A vendor examined before a move: the experiments of its rules or, if it is asked for each user, of its answers for
/// some users.
public struct VendorSurvey: Sendable {
    /// The vendor's name.
    public var name: String
    /// The experiments.
    public var experiments: [VendorExperiment]
    /// Whether all experiments are known; a vendor that is asked for each user shows only those of the given users.
    public var isComplete: Bool
    /// Whether the vendor can be told of users' variations.
    public var canBeTold: Bool
    /// Whether the vendor can be told to keep users out of an experiment.
    public var canExclude: Bool
    /// Whether the vendor accepts events, exposures included.
    public var takesEvents: Bool

    /// Asks a vendor.
    ///
    /// - Parameters:
    ///   - provider: The vendor, not started.
    ///   - users: The users to ask for, if the vendor decides for each.
    /// - Throws: Why there is no answer; ``ErrorCode/disabled`` while the vendor's kill switch is on.
    public init(of provider: any ExperimentationProvider, asking users: [User]) async throws(ExperimentationError) {
        let party = try await Party(provider, .old, in: ProviderContext())
        do throws(ExperimentationError) {
            try await self.init(of: party, asking: users)
        } catch {
            await party.roles.stop(SystemTime().instant)
            throw error
        }
        await party.roles.stop(SystemTime().instant)
    }

    private init(of party: Party, asking users: [User]) async throws(ExperimentationError) {
        name = party.name
        canBeTold = party.canBeTold
        canExclude = party.policy.allowsOverrides
        takesEvents = party.roles.takesEvents
        if case .asked = party.roles.decisions {
            var answers: [Decisions] = []
            for user in users { answers.append(try await party.decisions(for: user)) }
            experiments = VendorExperiment.all(in: answers)
            isComplete = false
        } else if party.roles.decisions != nil, let user = users.first {
            experiments = VendorExperiment.all(in: try await party.decisions(for: user).catalogue)
            isComplete = true
        } else {
            experiments = []
            isComplete = true
        }
    }
}

extension Party {
    /// Asks for a user's decisions; a disabled vendor shows no experiments, although it may have some.
    fileprivate func decisions(for user: User) async throws(ExperimentationError) -> Decisions {
        if let answer = try await answer(for: EvaluationContext(user: user, date: SystemTime().now)) {
            return answer.decisions
        }
        throw ExperimentationError(.disabled, "the vendor's kill switch is on; switch it off first")
    }
}

/// What a move between two vendors would break, and what to do first.
public struct MigrationOutlook: Sendable {
    /// The plan, with the given mapping or a first one to correct.
    public var plan: MigrationPlan
    /// The faults of the mapping.
    public var faults: [PlanFault]
    /// Experiments of the old vendor to map, or to finish before users move.
    public var finishFirst: [String]
    /// What the new vendor lacks, for people.
    public var losses: [String]

    /// Compares two vendors.
    ///
    /// - Parameters:
    ///   - old: The old vendor.
    ///   - new: The new vendor.
    ///   - plan: The plan so far; if its mapping is empty, a first one is made.
    public init(from old: VendorSurvey, to new: VendorSurvey, plan: MigrationPlan = MigrationPlan()) {
        self.plan = plan
        if plan.mapping.experiments.isEmpty {
            self.plan.mapping = Mapping(matching: old.experiments, with: new.experiments)
        }
        faults = self.plan.faults() + self.plan.mapping.faults(old: old.experiments, new: new.experiments)
        var first = self.plan.mapping.unmapped(of: old.experiments).map(\.experiment.id)
        losses = []
        if !new.canBeTold {
            first += self.plan.mapping.experiments.map(\.old.experiment)
            losses.append("\(new.name) can't be told which variations users have")
        }
        if !new.takesEvents {
            losses.append("\(new.name) accepts no events: exposures and goals of its users are lost")
        }
        // A vendor with overrides is told to leave out the users whom the old vendor left out.
        for holdout in old.experiments where holdout.isHoldout && !new.canExclude {
            losses.append("the holdout \(holdout.experiment.id) isn't carried: its users are dealt with like others")
        }
        if !old.isComplete {
            losses.append("\(old.name) decides per user, so only experiments of the surveyed users are known")
        }
        finishFirst = Array(Set(first)).sorted()
    }
}
