/// Whose rules decide which variation a visitor gets, where two of the vendor's programs disagree.
public enum FlagshipRules: String, Sendable, Hashable, Codable, CaseIterable {
    /// The SDK for iOS: a visitor keeps the variation that the SDK being replaced would give.
    case ios
    /// The Decision API: what the vendor's server would give, ranges of buckets and one test per visitor included.
    case server
}
