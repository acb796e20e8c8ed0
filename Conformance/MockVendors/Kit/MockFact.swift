/// One way in which a mock vendor behaves, and how it is known that the vendor does.
///
/// What isn't in a vendor's list is documented.
public struct MockFact: Sendable, Hashable, Codable {
    /// How a way of a vendor's is known.
    public enum Provenance: String, Sendable, Hashable, Codable, CaseIterable {
        /// The vendor's documents say so.
        case documented
        /// It was read in the vendor's SDK, or in what else it publishes.
        case read = "read in the SDK"
        /// It was seen in what the vendor answered.
        case recorded
        /// Nobody has seen it: it is this project's reading.
        case inferred
    }

    /// What the mock does.
    public let behavior: String
    /// How that is known.
    public let provenance: Provenance
    /// The setting by which the mock does otherwise; `nil` if there is none.
    public let setting: String?

    /// Creates a fact.
    public init(_ provenance: Provenance, _ behavior: String, setting: String? = nil) {
        self.behavior = behavior
        self.provenance = provenance
        self.setting = setting
    }
}
