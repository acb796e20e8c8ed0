import Experimentation

extension SigmaClient {
    /// Returns the user's assignments in a form for your own analytics: `name.index|name.index`.
    ///
    /// Names may contain dots; the index follows the last one.
    ///
    /// - Parameter estimateHoldouts: Whether to include holdouts, with index 0.
    /// - Returns: The string, or `nil` if there are no assignments.
    /// - Throws: Why there is no configuration.
    public func getAllUserExperiments(estimateHoldouts: Bool = true) async throws(SigmaError) -> String? {
        guard let experiments = try await leniently(allUserExperiments) else { return nil }
        return SigmaTranslation.joined(
            experiments.filter { estimateHoldouts || !$0.isHoldout }.map { ($0.name, $0.reportedIndex) }
        )
    }

    /// Returns the user's assignments as objects.
    ///
    /// In the vendor's SDK this is a deprecated overload of ``getAllUserExperiments(estimateHoldouts:)``, which made
    /// every call to that method ambiguous.
    public func allUserExperiments() async throws(SigmaError) -> [SigmaExperiment] {
        var evaluation = try await evaluation()
        return evaluation.project.experiments.indices.compactMap { evaluation.place(in: $0) }
    }

    /// Returns the user's assignments with the values that they set.
    ///
    /// - Parameter estimateHoldouts: Whether to include holdouts.
    /// - Returns: One item for each assignment, in the configuration's order.
    /// - Throws: Why there is no configuration.
    public func getUserExperimentsDetails(
        estimateHoldouts: Bool = true
    ) async throws(SigmaError) -> [SigmaExperimentDetail] {
        try await allUserExperiments().filter { estimateHoldouts || !$0.isHoldout }.map(\.detail)
    }

    /// Returns an experiment that the user is in.
    ///
    /// - Parameter name: The name of an experiment or holdout.
    /// - Returns: The experiment as it is now, or `nil` if the user isn't in it.
    /// - Throws: ``SigmaError/experimentNotFound(experiment:)``, or why there is no configuration.
    public func getExperiment(name: String) async throws(SigmaError) -> SigmaExperiment? {
        guard var evaluation = try await leniently(evaluation) else { return nil }
        guard let index = evaluation.project.experiment(named: name) else {
            throw .experimentNotFound(experiment: name)
        }
        return evaluation.place(in: index)
    }

    /// Returns whether the user is in a holdout.
    ///
    /// - Parameter name: The holdout's name.
    /// - Returns: Whether the user is in it.
    /// - Throws: ``SigmaError/holdoutNotFound(holdout:)``, also for an experiment that isn't one, or why there is no
    ///   configuration.
    public func getHoldout(name: String) async throws(SigmaError) -> Bool {
        var evaluation = try await evaluation()
        guard let index = evaluation.project.experiment(named: name), evaluation.project.experiments[index].isHoldout
        else { throw .holdoutNotFound(holdout: name) }
        return evaluation.membership(in: index) != .out
    }

    /// Returns the user's holdouts: `name.0|name.0`, or `nil` if there are none.
    public func getAllUserHoldouts() async throws(SigmaError) -> String? {
        let holdouts = try await allUserExperiments().filter(\.isHoldout)
        return SigmaTranslation.joined(holdouts.map { ($0.name, $0.reportedIndex) })
    }
}

extension Evaluation {
    /// Returns an experiment with the user's place in it, or `nil` if the user isn't in it.
    fileprivate mutating func place(in index: Int) -> SigmaExperiment? {
        guard case .inside(let group, _) = membership(in: index) else { return nil }
        return SigmaExperiment(project: project, reading: reading, index: index, group: group)
    }
}
