import Experimentation

/// The local forced list: for trials on this device, not for production.
///
/// It takes precedence over the service's own lists, isn't tied to a user's id, and survives a restart. Removing an
/// entry only undoes it; it doesn't force the user out.
extension SigmaClient {
    /// Forces the user into an experiment, and into one of its groups if an index is given.
    ///
    /// The last call for an experiment counts.
    ///
    /// - Parameters:
    ///   - experimentName: The experiment's name.
    ///   - groupIndex: The index of the group, from 0; `nil` for the one that the user's id falls into.
    /// - Throws: Checked in this order: why there is no configuration, ``SigmaError/experimentsEmpty``,
    ///   ``SigmaError/experimentNotFound(experiment:)``, ``SigmaError/experimentSplitIdNotFound(experiment:)``,
    ///   ``SigmaError/experimentGroupIndexNotFound(experiment:index:)``, and
    ///   ``SigmaError/experimentAlreadyContainsUser(experiment:)`` or
    ///   ``SigmaError/experimentGroupAlreadyContainsUser(experiment:index:)``.
    public func includeForce(experimentName: String, groupIndex: Int? = nil) async throws(SigmaError) {
        let evaluation = try await evaluation()
        let project = evaluation.project
        guard !project.experiments.isEmpty else { throw .experimentsEmpty }
        guard let index = project.experiment(named: experimentName) else {
            throw .experimentNotFound(experiment: experimentName)
        }
        let experiment = project.experiments[index]
        guard evaluation.splitID(for: experiment) != nil else {
            throw .experimentSplitIdNotFound(experiment: experimentName)
        }
        if let groupIndex, !experiment.groups.indices.contains(groupIndex) {
            throw .experimentGroupIndexNotFound(experiment: experimentName, index: groupIndex)
        }
        if let present = await profile.forced()[experimentName], present == groupIndex {
            guard let groupIndex else { throw .experimentAlreadyContainsUser(experiment: experimentName) }
            throw .experimentGroupAlreadyContainsUser(experiment: experimentName, index: groupIndex)
        }
        await store { $0.set([experimentName: .some(groupIndex)]) }
    }

    /// Removes an experiment from the local list.
    ///
    /// - Parameter experimentName: The experiment's name.
    /// - Throws: Why there is no configuration, ``SigmaError/noForceIncludedExperiments`` if the list is empty, or
    ///   ``SigmaError/experimentNotFound(experiment:)`` if neither the list nor the configuration knows it.
    public func excludeForce(experimentName: String) async throws(SigmaError) {
        let evaluation = try await evaluation()
        let forced = await profile.forced()
        guard !forced.isEmpty else { throw .noForceIncludedExperiments }
        guard forced.keys.contains(experimentName) else {
            guard evaluation.project.experiment(named: experimentName) != nil else {
                throw .experimentNotFound(experiment: experimentName)
            }
            return
        }
        await store { $0.set([experimentName: nil]) }
    }

    /// Empties the local list.
    ///
    /// - Throws: Why there is no configuration, or ``SigmaError/noForceIncludedExperiments`` if the list is empty.
    public func excludeForceAll() async throws(SigmaError) {
        _ = try await evaluation()
        guard await !profile.forced().isEmpty else { throw .noForceIncludedExperiments }
        await store { $0.replaceAll(with: [:]) }
    }

    private func store(_ change: (inout SigmaEdits<Int?>) -> Void) async {
        profile.edit { change(&$0.forced) }
        await profile.saved()
    }
}
