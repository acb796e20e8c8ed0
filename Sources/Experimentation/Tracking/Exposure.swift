/// That a user saw the variation that an experiment gave.
public struct Exposure: Sendable, Hashable, Codable {
    /// The place in the experiment.
    public var assignment: Assignment
    /// The flag whose reading was the exposure; `nil` for one that was recorded by hand.
    public var flagKey: String?
    /// The value that was read.
    public var value: FlagValue?
    /// The default that the reader named.
    public var defaultValue: FlagValue?

    /// Creates an exposure.
    public init(
        assignment: Assignment,
        flagKey: String? = nil,
        value: FlagValue? = nil,
        defaultValue: FlagValue? = nil
    ) {
        self.assignment = assignment
        self.flagKey = flagKey
        self.value = value
        self.defaultValue = defaultValue
    }
}

/// When the reading of a flag counts as an exposure.
public enum ExposurePolicy: String, Sendable, Hashable, Codable {
    /// Once per user, experiment and variation in a session. The default.
    case oncePerSession
    /// With every read that finds a value.
    case everyRead
    /// Only by ``UserSession/expose(_:)``.
    case manual
}
