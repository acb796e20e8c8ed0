import Experimentation

/// Where a merge stopped, as the cause of an error.
public struct MergeInterruption: Error, Sendable {
    /// The step that wasn't taken, or whose outcome is unknown: `search`, `updateCurrent`, `claimCurrent`, `claimExisting`,
    /// `releaseCurrent`, `switchIDs`, `audit`.
    public var step: String
    /// Whether the next call or start goes on from here.
    ///
    /// It doesn't where nothing had been written yet, nor where the vendor refuses the step for good.
    public var isResumable: Bool
    /// Why.
    public var cause: ExperimentationError
}
