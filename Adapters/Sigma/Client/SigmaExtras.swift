import Experimentation

extension Sigma {
    /// A user's places in experiments as the vendor's SDK writes them, to be sent to one's own analytics.
    ///
    /// `name.index|name.index`, in the configuration's order; names may contain dots, the index follows the last one.
    ///
    /// ```swift
    /// analytics.set("experiments", Sigma.experiments(of: session.assignments))
    /// ```
    ///
    /// - Parameters:
    ///   - assignments: The places, from `UserSession.assignments`.
    ///   - includingHoldouts: Whether places in holdouts are listed too.
    /// - Returns: The text, or `nil` if there are no places.
    public static func experiments(of assignments: [Assignment], includingHoldouts: Bool = true) -> String? {
        joined(assignments.filter { includingHoldouts || !$0.isHoldout })
    }

    /// A user's places in holdouts, written in the same way; the index is always 0.
    ///
    /// - Parameter assignments: The places, from `UserSession.assignments`.
    /// - Returns: The text, or `nil` if there are no places in holdouts.
    public static func holdouts(of assignments: [Assignment]) -> String? {
        joined(assignments.filter(\.isHoldout))
    }

    private static func joined(_ assignments: [Assignment]) -> String? {
        SigmaTranslation.joined(
            assignments.map { ($0.experiment.id, $0.metadata["groupIndex"]?.intValue ?? 0) }
        )
    }
}
