/// A provider's answer for one flag, before a type or a default comes into play.
public struct Resolution: Sendable, Hashable, Codable {
    /// The flag's value; ``FlagValue/null`` where the vendor gives none, which reads as the default.
    public var value: FlagValue
    /// The vendor's name for the value.
    public var variant: String?
    /// Why the value is what it is.
    public var reason: Reason
    /// What is wrong with this flag, if anything; its neighbours are not touched by it.
    public var error: ErrorCode?
    /// The same for a person, a constant text: it is handed out on the hot path.
    public var errorMessage: String?
    /// What else the vendor says of the flag.
    public var metadata: [String: FlagValue]
    /// The place in an experiment that gave this value, as an index into the catalogue's assignments.
    public var assignment: Int?

    /// Creates a resolution.
    public init(
        _ value: FlagValue,
        variant: String? = nil,
        reason: Reason = .unknown,
        error: ErrorCode? = nil,
        errorMessage: String? = nil,
        metadata: [String: FlagValue] = [:],
        assignment: Int? = nil
    ) {
        self.value = value
        self.variant = variant
        self.reason = reason
        self.error = error
        self.errorMessage = errorMessage
        self.metadata = metadata
        self.assignment = assignment
    }

    /// A flag that is there but can't be read.
    public static func unreadable(_ code: ErrorCode = .parseError, _ message: String) -> Resolution {
        Resolution(.null, reason: .error, error: code, errorMessage: message)
    }
}
