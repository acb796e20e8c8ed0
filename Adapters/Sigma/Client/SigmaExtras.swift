import Experimentation

extension Sigma {
    /// Returns a user's assignments in the notation of the vendor's SDK, for your own analytics.
    ///
    /// `name.index|name.index`, in the configuration's order; names may contain dots, and the index follows the last
    /// one.
    ///
    /// ```swift
    /// analytics.set("experiments", Sigma.experiments(of: session.assignments))
    /// ```
    ///
    /// - Parameters:
    ///   - assignments: The assignments, from `UserSession.assignments`.
    ///   - includingHoldouts: Whether to include holdouts.
    /// - Returns: The string, or `nil` if there are no assignments.
    public static func experiments(of assignments: [Assignment], includingHoldouts: Bool = true) -> String? {
        joined(assignments.filter { includingHoldouts || !$0.isHoldout })
    }

    /// Returns a user's holdouts in the same notation; the index is always 0.
    ///
    /// - Parameter assignments: The assignments, from `UserSession.assignments`.
    /// - Returns: The string, or `nil` if there are no holdouts.
    public static func holdouts(of assignments: [Assignment]) -> String? {
        joined(assignments.filter(\.isHoldout))
    }

    private static func joined(_ assignments: [Assignment]) -> String? {
        SigmaTranslation.joined(
            assignments.map { ($0.experiment.id, $0.metadata["groupIndex"]?.intValue ?? 0) }
        )
    }
}
