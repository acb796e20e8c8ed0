import Experimentation

extension SigmaClient {
    // MARK: Experiments

    /// Returns the user's assignments in a form for your own analytics: `name.index|name.index`.
    ///
    /// Names may contain dots; the index follows the last one.
    ///
    /// - Parameter estimateHoldouts: Whether to include holdouts, with index 0.
    /// - Returns: The string, or `nil` if there are no assignments.
    /// - Throws: Why there is no configuration.
    public func getAllUserExperiments(estimateHoldouts: Bool = true) async throws(SigmaError) -> String? {
        guard let places = try await leniently({ () async throws(SigmaError) in try await self.places() }) else {
            return nil
        }
        return SigmaTranslation.joined(
            places.filter { estimateHoldouts || !$0.experiment.isHoldout }.map { ($0.experiment.name, $0.told) }
        )
    }

    /// Returns the user's assignments as objects.
    ///
    /// In the vendor's SDK this is a deprecated overload of ``getAllUserExperiments(estimateHoldouts:)``, which made
    /// every call of that one ambiguous.
    public func allUserExperiments() async throws(SigmaError) -> [SigmaExperiment] {
        try await places().map { $0.object }
    }

    /// Returns the user's assignments with the values that they set.
    ///
    /// - Parameter estimateHoldouts: Whether to include holdouts.
    /// - Returns: One item for each assignment, in the configuration's order.
    /// - Throws: Why there is no configuration.
    public func getUserExperimentsDetails(
        estimateHoldouts: Bool = true
    ) async throws(SigmaError) -> [SigmaExperimentDetail] {
        var (evaluation, ruleset) = try await evaluation()
        var details: [SigmaExperimentDetail] = []
        for place in Self.places(&evaluation, of: ruleset) where estimateHoldouts || !place.experiment.isHoldout {
            let experiment = place.experiment
            let flags = experiment.flagNames.compactMap { name -> SigmaExperimentDetail.Result? in
                guard let flag = evaluation.project.flag(named: name).map({ evaluation.project.flags[$0] }),
                    let placement = flag.placements.first(where: { $0.experiment == place.index }),
                    let rules = placement.rules[place.group], let rule = rules.chosen(by: evaluation.reading)
                else { return nil }
                return .init(name: name, value: rules[rule].text)
            }
            let params = experiment.params.compactMap { param in
                param.values[place.group].map { SigmaExperimentDetail.Result(name: param.name, value: $0) }
            }
            details.append(
                SigmaExperimentDetail(
                    type: experiment.kind?.word,
                    id: experiment.name,
                    group: .init(index: place.told),
                    results: flags + params
                )
            )
        }
        return details
    }

    /// Returns an experiment that the user is in.
    ///
    /// - Parameter name: The name of an experiment or holdout.
    /// - Returns: The experiment as it is now, or `nil` if the user isn't in it.
    /// - Throws: ``SigmaError/experimentNotFound(experiment:)``, or why there is no configuration.
    public func getExperiment(name: String) async throws(SigmaError) -> SigmaExperiment? {
        guard let both = try await leniently(evaluation) else { return nil }
        var evaluation = both.0
        guard let index = evaluation.project.experiment(named: name) else {
            throw .experimentNotFound(experiment: name)
        }
        guard case .inside(let group, _) = evaluation.membership(in: index) else { return nil }
        return SigmaExperiment(index, group: group, in: both.1, for: evaluation.reading.context)
    }

    // MARK: Holdouts

    /// Returns whether the user is in a holdout.
    ///
    /// - Parameter name: The holdout's name.
    /// - Returns: Whether the user is in it.
    /// - Throws: ``SigmaError/holdoutNotFound(holdout:)``, also for an experiment that isn't one, or why there is no
    ///   configuration.
    public func getHoldout(name: String) async throws(SigmaError) -> Bool {
        var (evaluation, _) = try await evaluation()
        guard let index = evaluation.project.experiment(named: name), evaluation.project.experiments[index].isHoldout
        else { throw .holdoutNotFound(holdout: name) }
        return evaluation.membership(in: index) != .out
    }

    /// Returns the user's holdouts: `name.0|name.0`, or `nil` if there are none.
    public func getAllUserHoldouts() async throws(SigmaError) -> String? {
        SigmaTranslation.joined(
            try await places().filter { $0.experiment.isHoldout }.map { ($0.experiment.name, $0.told) }
        )
    }

    // MARK: Assignments

    private struct Place {
        let index: Int
        let experiment: SigmaProjectExperiment
        let group: Int
        let object: SigmaExperiment
        /// The index as reported.
        var told: Int { experiment.isHoldout ? 0 : group }
    }

    private func places() async throws(SigmaError) -> [Place] {
        var (evaluation, ruleset) = try await evaluation()
        return Self.places(&evaluation, of: ruleset)
    }

    private static func places(_ evaluation: inout Evaluation, of ruleset: SigmaRuleset) -> [Place] {
        evaluation.project.experiments.enumerated().compactMap { index, experiment in
            guard case .inside(let group, _) = evaluation.membership(in: index) else { return nil }
            let object = SigmaExperiment(index, group: group, in: ruleset, for: evaluation.reading.context)
            return Place(index: index, experiment: experiment, group: group, object: object)
        }
    }
}
