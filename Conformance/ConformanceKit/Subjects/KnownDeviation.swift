/// A known and documented deviation from the neutral contract.
public struct KnownDeviation: Sendable, Hashable, Codable {
    /// The case's name; a trailing `*` matches any ending.
    public var caseName: String
    /// Why the adapter deviates.
    public var reason: String
    /// Where to read more, if anywhere.
    public var link: String?

    /// Creates a record.
    public init(_ caseName: String, reason: String, link: String? = nil) {
        self.caseName = caseName
        self.reason = reason
        self.link = link
    }

    /// Whether this record applies to a case.
    public func covers(_ name: String) -> Bool {
        caseName.hasSuffix("*") ? name.hasPrefix(caseName.dropLast()) : name == caseName
    }
}
