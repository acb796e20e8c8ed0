/// Why a flag has its value, by OpenFeature's names; other reasons are possible.
public struct Reason: RawRepresentable, Hashable, Sendable, Codable {
    /// The reason's written form, as in reports.
    public let rawValue: String

    /// Creates a reason from its written form.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The value is the same for all users.
    public static let `static` = Reason(rawValue: "STATIC")
    /// No rule matched, so the flag's own default applies.
    public static let `default` = Reason(rawValue: "DEFAULT")
    /// A rule matched this user.
    public static let targetingMatch = Reason(rawValue: "TARGETING_MATCH")
    /// The user fell into a bucket of an experiment.
    public static let split = Reason(rawValue: "SPLIT")
    /// The value was kept from an earlier run and has not been confirmed yet.
    public static let cached = Reason(rawValue: "CACHED")
    /// The flag, or the vendor's whole service, is switched off.
    public static let disabled = Reason(rawValue: "DISABLED")
    /// The value is the last good one; the newest answer was bad or is overdue.
    public static let stale = Reason(rawValue: "STALE")
    /// The application overrides the flag in this process.
    public static let localOverride = Reason(rawValue: "LOCAL_OVERRIDE")
    /// The value ships with the application, and there are no decisions yet.
    public static let bundled = Reason(rawValue: "BUNDLED")
    /// The vendor doesn't give a reason.
    public static let unknown = Reason(rawValue: "UNKNOWN")
    /// The default is returned because of an error.
    public static let error = Reason(rawValue: "ERROR")
}

extension Reason: CustomStringConvertible {
    /// The written form.
    public var description: String { rawValue }
}
