import Experimentation

/// Translates the vendor's types into the core's: pure, and the only file that knows both.
enum SigmaTranslation {
    /// The label of the group that others are compared with.
    static let controlLabel = "control"

    /// The resolution of a flag without a value for this user; it reads as the default.
    static let noValue = Resolution(.null, reason: .default)

    /// A holdout's group is reported as its first: the vendor reports index 0 whatever the group.
    static func assignment(in experiment: SigmaProjectExperiment, group: Int, _ origin: Assignment.Origin) -> Assignment
    {
        let told = experiment.isHoldout ? 0 : group
        let place = experiment.groups[told]
        return Assignment(
            experiment: Experiment(id: experiment.name, kind: experiment.kind?.word),
            variation: Variation(
                id: place.name,
                name: place.label,
                isControl: place.label?.lowercased() == controlLabel
            ),
            isHoldout: experiment.isHoldout,
            origin: origin,
            metadata: ["groupIndex": .int(told)]
        )
    }

    static func resolution(of rule: SigmaProjectRule, in flag: SigmaProjectFlag) -> Resolution {
        let reason: Reason =
            if !rule.isDefault {
                .targetingMatch
            } else if flag.placements.isEmpty, flag.rules?.allSatisfy(\.isDefault) == true {
                .static
            } else {
                .default
            }
        return resolution(rule.text, flag.type, Resolution(.null, reason: reason))
    }

    static func resolution(
        of rule: SigmaProjectRule,
        type: ValueType,
        in experiment: SigmaProjectExperiment,
        group: Int,
        _ origin: Assignment.Origin,
        assignment: Int
    ) -> Resolution {
        resolution(
            rule.text,
            type,
            Resolution(
                .null,
                variant: experiment.groups[group].name,
                // A user on a forced list was named, not drawn.
                reason: origin == .allocated || origin == .sticky ? .split : .targetingMatch,
                metadata: [
                    "experiment": .string(experiment.name), "group": .string(experiment.groups[group].name),
                    "groupIndex": .int(group),
                ],
                assignment: assignment
            )
        )
    }

    private static func resolution(_ text: String, _ type: ValueType, _ base: Resolution) -> Resolution {
        guard let value = type.value(of: text) else {
            return .unreadable(.parseError, "the configured text is not a value of the flag's type")
        }
        var resolution = base
        resolution.value = value
        return resolution
    }

    /// Formats assignments in the notation of the vendor's SDK for analytics: `name.index`, joined by bars; `nil` for
    /// none.
    ///
    /// Names may contain dots; the index follows the last one.
    static func joined(_ places: [(name: String, index: Int)]) -> String? {
        places.isEmpty ? nil : places.map { "\($0.name).\($0.index)" }.joined(separator: "|")
    }
}

extension SigmaWire.Kind {
    /// The vendor's name for the kind, as in its SDK.
    var word: String {
        switch self {
        case .featureFlag: "featureFlag"
        case .parameter: "parameter"
        case .splitURL: "splitUrl"
        case .webBuilder: "webBuilder"
        case .holdout: "holdout"
        }
    }
}
