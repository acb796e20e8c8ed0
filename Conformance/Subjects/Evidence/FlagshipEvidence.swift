import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors

extension FlagshipSubject {
    /// From the vendor's public reference and the published sources of its SDKs and of its Decision API server.
    public var evidence: Evidence {
        Evidence(
            of: FlagshipMock.self,
            [
                .flags: .documented, .objectFlags: .documented, .flagMetadata: .read, .targeting: .documented,
                .localEvaluation: .read, .offlineStart: .read, .experiments: .documented,
                // In Decision API mode the server remembers; in bucketing mode the SDK does.
                .stickyAssignments: .read, .controlGroups: .read, .exposures: .documented, .tracking: .documented,
                .batching: .read, .consentSignal: .read, .killSwitch: .documented,
            ],
            fixtures: [
                .init(
                    "allocation-places.json",
                    .read,
                    source: "MurmurHash3 as the SDKs use it, by a program of its own"
                ),
                .init(
                    "campaigns-exposing-all-keys.json",
                    .documented,
                    source: "reference of the Decision API; member names of the SDK for iOS 4.0.3"
                ),
                .init("bucketing.json", .documented, source: "the published schema of bucketing files"),
                .init("cached-hits.json", .read, source: "the record format of the SDK for iOS 4.0.3"),
                .init("cached-visitor.json", .read, source: "the record format of the SDK for iOS 4.0.3"),
                .init("requests-python.json", .recorded, source: "a run of the SDK for Python 3.0.1 against the mock"),
                .init("requests-typescript.json", .read, source: "the published source of the SDK for TypeScript 5.2"),
            ]
        )
    }
}
