/// A provider's answer for one flag, before types and defaults apply.
public struct Resolution: Sendable, Hashable, Codable {
    /// The flag's value; ``FlagValue/null`` if the vendor gives none, which reads as the default.
    public var value: FlagValue
    /// The vendor's name for the value.
    public var variant: String?
    /// Why the flag has this value.
    public var reason: Reason
    /// The problem with this flag, if there is one; other flags aren't affected.
    public var error: ErrorCode?
    /// The error's message for a person; a constant, because it is returned on the hot path.
    public var errorMessage: String?
    /// Further information on the flag from the vendor.
    public var metadata: [String: FlagValue]
    /// The assignment that gave this value, as an index into the catalogue's assignments.
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

    /// Returns the resolution of a flag that is there but can't be read.
    public static func unreadable(_ code: ErrorCode = .parseError, _ message: String) -> Resolution {
        Resolution(.null, reason: .error, error: code, errorMessage: message)
    }
}
