import Experimentation

enum Membership: Sendable, Hashable {
    case out
    case inside(group: Int, Assignment.Origin)
}

enum FlagAnswer: Sendable, Hashable {
    /// The text of an experiment's rule, with the user's place there.
    case placed(placement: Int, rule: Int, group: Int, Assignment.Origin)
    /// The text of one of the flag's own rules.
    case own(rule: Int)
    /// Only experiments know the flag, and the user is in none that sets its value.
    case unavailable
    /// The flag has no rules of its own.
    case noRules
    /// None of the flag's own rules matches this user.
    case noRuleSatisfied
}

/// The evaluation of a project for one user at one moment.
///
/// Pure, except for its memory: each draw of a layer and each membership is computed once, however many flags need it.
struct Evaluation {
    let reading: PropertyReading
    let project: SigmaProject
    /// The local list: experiments by name, with the index of a group if one was named.
    private let forced: [String: Int?]
    /// The user's ids, read once for all experiments.
    private let splitIDs: (user: String?, profile: String?, device: String?)?
    private var memberships: [Membership?]
    private var layerPositions: [Double?]
    private var bytes: [UInt8] = []

    /// Creates an evaluation; it should remember results unless only one flag will be requested.
    init(
        of project: SigmaProject,
        in surroundings: Surroundings,
        for context: EvaluationContext,
        forcing forced: [String: Int?] = [:],
        remembering: Bool = true
    ) {
        let reading = PropertyReading(context: context, surroundings: surroundings)
        self.reading = reading
        self.project = project
        self.forced = forced
        splitIDs =
            remembering ? (reading.text(of: .userID), reading.text(of: .profileID), reading.text(of: .deviceID)) : nil
        memberships = remembering ? Array(repeating: nil, count: project.experiments.count) : []
        layerPositions = remembering ? Array(repeating: nil, count: project.layerDraws) : []
    }

    /// Returns a flag's result: an experiment's value if the user is in one, else the result of its own rules.
    mutating func answer(forFlag index: Int) -> FlagAnswer {
        let flag = project.flags[index]
        for place in flag.placements.indices {
            let placement = flag.placements[place]
            guard case .inside(let group, let origin) = membership(in: placement.experiment),
                let rules = placement.rules[group], let rule = rules.chosen(by: reading)
            else { continue }
            return .placed(placement: place, rule: rule, group: group, origin)
        }
        guard let rules = flag.rules else { return .unavailable }
        guard !rules.isEmpty else { return .noRules }
        guard let rule = rules.chosen(by: reading) else { return .noRuleSatisfied }
        return .own(rule: rule)
    }

    mutating func membership(in index: Int) -> Membership {
        if !memberships.isEmpty, let known = memberships[index] { return known }
        let membership = decideMembership(in: index)
        if !memberships.isEmpty { memberships[index] = membership }
        return membership
    }

    /// Returns the id by which an experiment splits this user, or `nil`.
    func splitID(for experiment: SigmaProjectExperiment) -> String? {
        let id =
            switch (splitIDs, experiment.splitBy) {
            case (let ids?, .userID): ids.user
            case (let ids?, .profileID): ids.profile
            case (let ids?, .deviceID): ids.device
            case (nil, _): reading.text(of: experiment.splitProperty)
            }
        guard let id, !id.isEmpty else { return nil }
        return id
    }

    /// Determines a membership in the vendor's order: local list, lists of the groups, list of the experiment,
    /// holdouts, audience, layer, allocation, weights.
    private mutating func decideMembership(in index: Int) -> Membership {
        let experiment = project.experiments[index]
        let id = splitID(for: experiment)

        if let forced = localPlace(in: experiment, of: id) { return forced }
        guard let id else { return .out }
        let escapes = project.assumptions.forcedUsersEscapeHoldouts
        if escapes, let forced = vendorPlace(in: experiment, of: id) { return forced }
        for holdout in experiment.holdouts where membership(in: holdout) != .out { return .out }
        if !escapes, let forced = vendorPlace(in: experiment, of: id) { return forced }
        if let audience = experiment.audience, !audience.includes(reading) { return .out }
        if let layer = experiment.layer {
            guard layer.contains(layerPosition(in: layer, for: id)) else { return .out }
        }
        if experiment.layer == nil || project.assumptions.allocationAppliesInLayers {
            guard isInTraffic(of: experiment, id) else { return .out }
        }
        if let only = experiment.onlyGroup { return .inside(group: only, .allocated) }
        let position = position(in: .group, splitID: id, salt: experiment.salt)
        return experiment.group(at: position).map { .inside(group: $0, .allocated) } ?? .out
    }

    /// Returns the membership that this device forces.
    ///
    /// The last override of an experiment counts, and one for a removed group is ignored.
    private mutating func localPlace(in experiment: SigmaProjectExperiment, of id: String?) -> Membership? {
        if !forced.isEmpty, let listed = forced[experiment.name] {
            guard let group = listed else { return forcedGroup(in: experiment, for: id, .forcedHere) }
            return experiment.groups.indices.contains(group) ? .inside(group: group, .forcedHere) : nil
        }
        guard let override = reading.context.overrides.last(where: { $0.experiment == experiment.name }) else {
            return nil
        }
        switch override {
        case .exclude: return .out
        case .include(_, nil): return forcedGroup(in: experiment, for: id, .forcedHere)
        case .include(_, let variation?):
            return experiment.group(named: variation).map { .inside(group: $0, .forcedHere) }
        }
    }

    private mutating func vendorPlace(in experiment: SigmaProjectExperiment, of id: String) -> Membership? {
        let exact = ExactText(id)
        if let group = experiment.forcedGroups[exact] { return .inside(group: group, .forcedByVendor) }
        if experiment.forced.contains(exact) { return forcedGroup(in: experiment, for: id, .forcedByVendor) }
        return nil
    }

    private mutating func forcedGroup(
        in experiment: SigmaProjectExperiment,
        for id: String?,
        _ origin: Assignment.Origin
    ) -> Membership {
        if let only = experiment.onlyGroup { return .inside(group: only, origin) }
        guard let id else { return .out }
        let position = position(in: .group, splitID: id, salt: experiment.salt)
        return experiment.forcedGroup(at: position).map { .inside(group: $0, origin) } ?? .out
    }

    private mutating func isInTraffic(of experiment: SigmaProjectExperiment, _ id: String) -> Bool {
        // Positions are from 0 up to 100: at either end the draw can't change anything.
        if experiment.allocation >= 100 { return true }
        if experiment.allocation <= 0 { return false }
        return position(in: .traffic, splitID: id, salt: experiment.salt) < experiment.allocation
    }

    private mutating func layerPosition(in layer: SigmaProjectExperiment.Layer, for id: String) -> Double {
        if !layerPositions.isEmpty, let known = layerPositions[layer.draw] { return known }
        let position = position(in: .layer, splitID: id, salt: layer.id)
        if !layerPositions.isEmpty { layerPositions[layer.draw] = position }
        return position
    }

    private mutating func position(in draw: SigmaBucketing.Draw, splitID: String, salt: String) -> Double {
        if let formula = reading.surroundings.configuration.bucketing.formula { return formula(draw, splitID, salt) }
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: splitID.utf8)
        bytes.append(contentsOf: salt.utf8)
        draw.suffix.withUTF8Buffer { bytes.append(contentsOf: $0) }
        return SigmaBucketing.bucket(of: bytes)
    }
}
