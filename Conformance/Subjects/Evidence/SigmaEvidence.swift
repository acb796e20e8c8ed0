import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors

extension SigmaSubject {
    /// From the vendor's pages and the interface of its framework; its bucketing formula isn't published.
    public var evidence: Evidence {
        let framework = "names and types in the framework of the SDK for iOS 1.8.1; value ranges are this project's"
        return Evidence(
            of: SigmaMock.self,
            [
                .flags: .documented, .objectFlags: .read, .flagMetadata: .read, .targeting: .read,
                .dateTargeting: .read, .versionTargeting: .read,
                .localEvaluation: .documented, .offlineStart: .read,
                // The formula that assigns variations isn't public.
                .experiments: .inferred, .layers: .inferred, .holdouts: .inferred, .controlGroups: .inferred,
                .overrides: .read,
            ],
            fixtures: [
                .init("config-reference.json", .read, source: framework),
                .init("config-broken-elements.json", .read, source: framework),
                .init("geo.json", .read, source: framework),
            ]
        )
    }
}
