/// Which program's rules assign variations where two of the vendor's programs disagree.
public enum FlagshipRules: String, Sendable, Hashable, Codable, CaseIterable {
    /// The SDK for iOS: a visitor keeps the variation that the replaced SDK would assign.
    case ios
    /// The Decision API: the assignments of the vendor's server, including bucket ranges and one test per visitor.
    case server
}
