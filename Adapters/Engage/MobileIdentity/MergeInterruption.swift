import Experimentation

/// Where a merge was interrupted, as the cause of an error.
public struct MergeInterruption: Error, Sendable {
    /// The step that failed, or whose outcome is unknown: `search`, `updateCurrent`, `claimCurrent`, `claimExisting`,
    /// `releaseCurrent`, `switchIDs`, `audit`.
    public var step: String
    /// Whether the next call or start resumes here.
    ///
    /// It doesn't if nothing had been written yet, or if the vendor refuses the step permanently.
    public var isResumable: Bool
    /// The reason.
    public var cause: ExperimentationError
}
