import ConformanceKit
import Experimentation
import MockVendors

extension Evidence {
    /// Creates evidence whose rules are the facts of a mock vendor.
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
    /// Translates a mock's provenance, since mocks know nothing of the suite.
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
