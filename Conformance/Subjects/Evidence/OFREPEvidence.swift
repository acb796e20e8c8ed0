import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors

extension OFREPSubject {
    /// From the published protocol; for events, from this project's own schema.
    public var evidence: Evidence {
        let bulk = "service/openapi.yaml 0.3.0 and ADR 0008 of open-feature/protocol"
        return Evidence(
            of: OFREPMock.self,
            Dictionary(uniqueKeysWithValues: capabilities.map { ($0, Provenance.documented) }),
            fixtures: [
                .init("bulk.json", .documented, source: bulk),
                .init("refusal.json", .documented, source: "\(bulk), bulkEvaluationFailure"),
                .init("events.txt", .documented, source: "ADR 0008 and service/event-streams.yaml"),
            ]
        )
    }
}
