import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors

extension EvergageSubject {
    /// From the vendor's Event API pages and public headers; the wire of its mobile SDK isn't published.
    public var evidence: Evidence {
        Evidence(
            of: EvergageMock.self,
            [
                .tracking: .documented, .commerce: .documented, .campaigns: .documented, .controlGroups: .documented,
                // That the vendor honors the header field is this project's inference.
                .eventIDs: .inferred,
            ],
            fixtures: [
                .init(
                    "response-server-side-message.json",
                    .documented,
                    source: "the vendor's Event API page on responses"
                ),
                .init(
                    "response-template-payload.json",
                    .documented,
                    source: "the vendor's page on server-side templates, and public code"
                ),
                .init("event-purchase.json", .documented, source: "the vendor's Event API page on item actions"),
            ]
        )
    }
}
