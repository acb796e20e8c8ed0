/// A behavior of a mock vendor, and how it is known to be the vendor's.
///
/// Behavior that isn't listed is documented by the vendor.
public struct MockFact: Sendable, Hashable, Codable {
    /// How a vendor's behavior is known.
    public enum Provenance: String, Sendable, Hashable, Codable, CaseIterable {
        /// The vendor documents it.
        case documented
        /// Read in the source of the vendor's SDK, or in other material that it publishes.
        case read = "read in the SDK"
        /// Observed in the vendor's answers.
        case recorded
        /// Not observed: inferred by this project.
        case inferred
    }

    /// What the mock does.
    public let behavior: String
    /// How that is known.
    public let provenance: Provenance
    /// The setting that changes the mock's behavior; `nil` if there is none.
    public let setting: String?

    /// Creates a fact.
    public init(_ provenance: Provenance, _ behavior: String, setting: String? = nil) {
        self.behavior = behavior
        self.provenance = provenance
        self.setting = setting
    }
}
