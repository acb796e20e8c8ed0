import Experimentation

/// An experiment that a user is in, as of the moment of the call.
///
/// It holds the configuration, the user's properties and the group of that moment: later changes don't affect what it
/// returns.
public struct SigmaExperiment: Sendable {
    let project: SigmaProject
    let reading: PropertyReading
    let index: Int
    let group: Int

    private var experiment: SigmaProjectExperiment { project.experiments[index] }

    var isHoldout: Bool { experiment.isHoldout }

    /// The index of the group as the vendor's SDK reports it.
    var reportedIndex: Int { isHoldout ? 0 : group }

    /// The name, which the vendor's documentation also calls its id.
    public var name: String { experiment.name }

    /// The index of the user's group, from 0; always 0 for a holdout.
    public var groupIndex: Int? { reportedIndex }

    /// The name of the group.
    public var userGroupName: String? { experiment.groups[group].name }

    /// Returns the value of a parameter; `nil` for an unknown one, one without a value for the group, or another type.
    public func getParamValue<T: SigmaPropertyType>(name: String) -> T? {
        guard let param = experiment.params.first(where: { $0.name == name }), let text = param.values[group] else {
            return nil
        }
        return T(sigmaString: text)
    }

    /// Returns the value of a flag within this experiment; the flag's own rules don't count here.
    ///
    /// - Throws: ``SigmaError/featureFlagNotFound(featureFlag:)`` if the experiment doesn't have the flag,
    ///   ``SigmaError/experimentGroupNotMatchingFeatureFlagGroup(experiment:featureFlag:userGroup:featureFlagGroups:)``,
    ///   ``SigmaError/featureFlagNoRules(featureFlag:)`` or ``SigmaError/featureFlagRulesNotSatisfied(featureFlag:)``.
    /// - Returns: The value, or `nil` if it has another type.
    public func getFeatureValue<T: SigmaPropertyType>(flagName: String) throws(SigmaError) -> T? {
        T(sigmaString: try text(ofFlag: flagName))
    }

    /// The older name of ``getFeatureValue(flagName:)``.
    public func getFeatureFlagValue<T: SigmaPropertyType>(flagName: String) throws(SigmaError) -> T? {
        try getFeatureValue(flagName: flagName)
    }

    private func text(ofFlag flagName: String) throws(SigmaError) -> String {
        let placement = project.flag(named: flagName).flatMap { flag in
            project.flags[flag].placements.first { $0.experiment == index }
        }
        guard let placement else { throw .featureFlagNotFound(featureFlag: flagName) }
        guard let rules = placement.rules[group] else {
            throw .experimentGroupNotMatchingFeatureFlagGroup(
                experiment: name,
                featureFlag: flagName,
                userGroup: experiment.groups[group].name,
                featureFlagGroups: placement.groupNames
            )
        }
        guard !rules.isEmpty else { throw .featureFlagNoRules(featureFlag: flagName) }
        guard let rule = rules.chosen(by: reading) else {
            throw .featureFlagRulesNotSatisfied(featureFlag: flagName)
        }
        return rules[rule].text
    }

    var detail: SigmaExperimentDetail {
        let flags = experiment.flagNames.compactMap { name in
            (try? text(ofFlag: name)).map { SigmaExperimentDetail.Result(name: name, value: $0) }
        }
        let params = experiment.params.compactMap { param in
            param.values[group].map { SigmaExperimentDetail.Result(name: param.name, value: $0) }
        }
        return SigmaExperimentDetail(
            type: experiment.kind?.word,
            id: name,
            group: .init(index: reportedIndex),
            results: flags + params
        )
    }
}

/// An experiment that a user is in, with the values that it sets.
public struct SigmaExperimentDetail: Sendable, Hashable {
    /// The user's group.
    public struct Group: Sendable, Hashable {
        /// The index of the group, from 0; always 0 for a holdout.
        public let index: Int
    }

    /// A flag or a parameter with its value.
    public struct Result: Sendable, Hashable {
        /// The flag's or the parameter's name.
        public let name: String
        /// The value as configured.
        public let value: String
    }

    /// `featureFlag`, `parameter`, `splitUrl`, `webBuilder` or `holdout`; `nil` if the configuration doesn't say.
    public let type: String?
    /// The experiment's name.
    public let id: String
    /// The user's group.
    public let group: Group
    /// The values that the experiment gives the user: flags, then parameters.
    public let results: [Result]
}
