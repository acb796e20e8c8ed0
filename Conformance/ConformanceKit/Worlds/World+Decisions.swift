import Experimentation

extension World {
    /// The decisions of a vendor without quirks for a user in this world; pure.
    ///
    /// The reference for mocks without a vendor behind them. Buckets are hashes of the experiment's and the user's id,
    /// so vendors with another hash split differently: cases compare it only where the weights leave no choice.
    public func decisions(for context: EvaluationContext) -> Decisions {
        var places: [Assignment] = []
        var placeOfExperiment: [String: Int] = [:]
        let holding = holdouts.filter { bucket($0.id, context) < $0.weight }
        for holdout in holding {
            places.append(
                Assignment(
                    experiment: Experimentation.Experiment(id: holdout.id, name: holdout.name, kind: "holdout"),
                    variation: Experimentation.Variation(id: holdout.id, name: holdout.name, isControl: true),
                    isHoldout: true
                )
            )
        }
        for experiment in experiments {
            let isHeldOut = holding.contains { $0.experiments.isEmpty || $0.experiments.contains(experiment.id) }
            guard let place = place(in: experiment, for: context, isHeldOut: isHeldOut) else { continue }
            placeOfExperiment[experiment.id] = places.count
            places.append(place)
        }
        let resolutions = flags.compactMap { flag in
            resolution(of: flag, places: places, placeOfExperiment: placeOfExperiment, for: context).map {
                (key: flag.key, resolution: $0)
            }
        }
        return Decisions(flags: resolutions, assignments: places)
    }

    private func resolution(
        of flag: Flag,
        places: [Assignment],
        placeOfExperiment: [String: Int],
        for context: EvaluationContext
    ) -> Resolution? {
        if flag.isMalformed { return .unreadable(.parseError, "The flag's record can't be read.") }
        if flag.isDisabled { return Resolution(.null, reason: .disabled) }
        if let rule = flag.rules.first(where: { $0.when.allSatisfy { $0.matches(context.user.attributes) } }) {
            return Resolution(rule.value, variant: "rule", reason: .targetingMatch)
        }
        if let experiment = flag.experiment, let place = placeOfExperiment[experiment] {
            let variation = places[place].variation.id
            if let value = flag.variations[variation] {
                return Resolution(value, variant: variation, reason: .split, assignment: place)
            }
        }
        let isDefault = !flag.rules.isEmpty || flag.experiment != nil
        return Resolution(flag.value, variant: "default", reason: isDefault ? .default : .static)
    }

    private func place(
        in experiment: Experiment,
        for context: EvaluationContext,
        isHeldOut: Bool
    ) -> Assignment? {
        guard experiment.isRunning else { return nil }
        func assignment(_ id: String, _ origin: Assignment.Origin) -> Assignment? {
            guard let variation = experiment.variations.first(where: { $0.id == id }) else { return nil }
            return Assignment(
                experiment: Experimentation.Experiment(id: experiment.id, name: experiment.name, kind: "ab"),
                variation: Experimentation.Variation(
                    id: variation.id,
                    name: variation.name,
                    isControl: variation.isControl
                ),
                origin: origin
            )
        }
        for override in context.overrides.reversed() where override.experiment == experiment.id {
            switch override {
            case .exclude: return nil
            case .include(_, let variation):
                return assignment(variation ?? experiment.variations.first?.id ?? "", .forcedHere)
            }
        }
        if let forced = experiment.forced[context.user.id] { return assignment(forced, .forcedByVendor) }
        guard !isHeldOut else { return nil }
        if experiment.isSticky, let earlier = context.earlierAssignments[experiment.id],
            let kept = assignment(earlier, .sticky)
        {
            return kept
        }
        guard experiment.targeting.allSatisfy({ $0.matches(context.user.attributes) }) else { return nil }
        if let layer = experiment.layer, !layer.holds(bucket("layer \(layer.id)", context)) { return nil }
        var rest = bucket(experiment.id, context)
        for variation in experiment.variations {
            if rest < variation.weight { return assignment(variation.id, .allocated) }
            rest -= variation.weight
        }
        return nil
    }

    // FNV-1a over the two ids: stable across runs and platforms.
    private func bucket(_ id: String, _ context: EvaluationContext) -> Int {
        Self.bucket(id, userID: context.user.id)
    }

    static func bucket(_ id: String, userID: String) -> Int {
        let hash = "\(id):\(userID)".utf8.fnv1a()
        return Int((hash ^ hash >> 32) % 100)
    }
}

extension World.Condition {
    /// Whether a user's attributes meet this condition.
    public func matches(_ attributes: Attributes) -> Bool {
        guard let actual = attributes[attribute], actual != .null else { return false }
        switch comparison {
        case .equals:
            if case .array(let values) = value { return values.contains { Self.equal($0, actual) } }
            return Self.equal(value, actual)
        case .notEquals: return !Self.equal(value, actual)
        case .lessThan: return Self.isOrdered(actual, value)
        case .greaterThan: return Self.isOrdered(value, actual)
        case .contains:
            guard let text = actual.stringValue, let part = value.stringValue else { return false }
            return part.isEmpty || text.contains(part)
        case .before, .after, .onDay: return Self.isInTime(actual, comparison, value)
        case .versionBefore: return Self.isOlder(actual, value)
        case .versionAfter: return Self.isOlder(value, actual)
        case .unknownOperator: return false
        }
    }

    private static func equal(_ one: FlagValue, _ other: FlagValue) -> Bool {
        if let one = one.doubleValue, let other = other.doubleValue { return one == other }
        return one == other
    }

    private static func isOrdered(_ one: FlagValue, _ other: FlagValue) -> Bool {
        if let one = one.doubleValue, let other = other.doubleValue { return one < other }
        if let one = one.stringValue, let other = other.stringValue { return one < other }
        return false
    }
}
