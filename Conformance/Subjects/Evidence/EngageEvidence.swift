import ConformanceKit
import ConformanceStages
import Experimentation
import MockVendors

extension EngageSubject {
    /// From the vendor's developer pages, its SDKs' sources and three third-party clients.
    public var evidence: Evidence {
        let sdk = "XMLAPI.m of the SDK for iOS 1.1.0 and the vendor's page of the call"
        let clients = "fixtures and tests of third-party clients, which hold the vendor's answers"
        let oauth = "the vendor's page on OAuth"
        return Evidence(
            of: EngageMock.self,
            [.tracking: .documented, .batching: .documented, .identityLinking: .read],
            fixtures: [
                .init("request-add-list-column.xml", .read, source: sdk),
                .init("request-add-recipient-email.xml", .read, source: sdk),
                .init("request-add-recipient-mobile.xml", .read, source: sdk),
                .init("request-insert-update-rows.xml", .read, source: sdk),
                .init("request-select-recipient.xml", .read, source: sdk),
                .init("request-update-recipient.xml", .read, source: sdk),
                .init("answer-fault.xml", .recorded, source: clients),
                .init("answer-recipient.xml", .recorded, source: clients),
                .init("answer-row-failures.xml", .documented, source: "the vendor's page of the call"),
                .init("token-granted.json", .documented, source: oauth),
                .init("token-refused.json", .inferred, source: "\(oauth); names of errors by a third-party client"),
                .init("behaviors.json", .read, source: "UBF.m and UBF.java of the SDKs, restdoc/events"),
                .init("deep-link-routes.json", .documented, source: "README of the SDK for iOS, mobiledeeplinking-ios"),
            ]
        )
    }
}
