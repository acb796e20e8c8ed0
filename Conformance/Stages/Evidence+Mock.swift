import ConformanceKit
import Experimentation
import MockVendors

extension Evidence {
    /// Evidence whose rules are what a mock vendor says of itself.
    public init<Vendor: MockVendor>(
        of vendor: Vendor.Type,
        _ capabilities: [Capability: Provenance],
        fixtures: [Fixture] = []
    ) {
        self.init(
            capabilities,
            rules: vendor.facts.map { WireRule(Provenance($0.provenance), $0.behavior, setting: $0.setting) },
            fixtures: fixtures
        )
    }
}

extension Provenance {
    /// The same in the words of the suite, of which a mock knows nothing.
    public init(_ provenance: MockFact.Provenance) {
        self =
            switch provenance {
            case .documented: .documented
            case .read: .read
            case .recorded: .recorded
            case .inferred: .inferred
            }
    }
}
