/// That a user saw the variation that an experiment gave.
public struct Exposure: Sendable, Hashable, Codable {
    /// The place in the experiment.
    public var assignment: Assignment
    /// The flag whose reading was the exposure; `nil` for one that was recorded by hand.
    public var flagKey: String?
    /// The value that was read; `nil` where the variation has none for the flag, and the user saw the default.
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
///
/// A flag without a value of its own counts too where an experiment's variation says so: the user saw the default because of it.
/// A flag that isn't there, or is of another type than the one asked for, never counts.
public enum ExposurePolicy: String, Sendable, Hashable, Codable {
    /// Once per user, experiment and variation in a session. The default.
    case oncePerSession
    /// With every read that finds the flag, unless it is of another type.
    case everyRead
    /// Only by ``UserSession/expose(_:)``.
    case manual
}

/// Hears of exposures at the moment they are recorded: once per user, experiment and variation in a session, unless the
/// policy says otherwise.
///
/// An exposure isn't an evaluation: a flag is read a thousand times and its user exposed once, and a flag outside of experiments
/// exposes nobody.
public protocol ExposureObserver: Sendable {
    /// Takes an exposure; called where the flag was read, so it should return at once.
    ///
    /// - Parameters:
    ///   - exposure: The exposure.
    ///   - user: Whose it is.
    ///   - provider: The name of the provider that put them there.
    func exposed(_ exposure: Exposure, of user: User, by provider: String)
}
