/// A user's encounter with an experiment's variation.
public struct Exposure: Sendable, Hashable, Codable {
    /// The assignment that was exposed.
    public var assignment: Assignment
    /// The flag whose read was the exposure; `nil` for one that was recorded explicitly.
    public var flagKey: String?
    /// The value that was read; `nil` if the variation has none for the flag, and the user saw the default.
    public var value: FlagValue?
    /// The default given by the caller; also `nil` if it holds a number that isn't finite, or is nested too deeply to
    /// be stored.
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
/// A flag without a value of its own counts too if an experiment's variation says so: the user saw the default because
/// of it. A missing flag, or one of another type than requested, never counts.
public enum ExposurePolicy: String, Sendable, Hashable, Codable {
    /// Once per user, experiment and variation in a session; the default.
    case oncePerSession
    /// With every read that finds the flag with the requested type.
    case everyRead
    /// Only by ``UserSession/expose(_:)``.
    case manual
}

/// Hears of exposures at the moment they are recorded: once per user, experiment and variation in a session, unless the
/// policy says otherwise.
///
/// An exposure isn't an evaluation: a flag may be read a thousand times for one exposure, and a flag outside of
/// experiments exposes no user.
public protocol ExposureObserver: Sendable {
    /// Takes an exposure; called where the flag was read, so it should return at once.
    ///
    /// - Parameters:
    ///   - exposure: The exposure.
    ///   - user: The user who was exposed.
    ///   - provider: The name of the client's provider.
    func exposed(_ exposure: Exposure, of user: User, by provider: String)
}
