import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import EngageAdapter

@Suite("Wire samples")
struct FixtureTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Conformance/Fixtures/Engage")

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: Self.folder.appending(path: name)))
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static let requests: [(String, XMLAPI)] = [
        (
            "request-add-recipient-mobile",
            .addRecipient(
                mobileUserIDColumn: "Mobile User Id",
                id: "5E0C7A0E-61C6-4C8E-9C0B-0A9B3D1F2A11",
                list: "23949"
            )
        ),
        ("request-add-recipient-email", .addRecipient(email: "ann@example.test", list: "23949")),
        (
            "request-select-recipient",
            .selectRecipientData(columns: ["facebook_id": "100", "twitter_id": "9999"], list: "23949")
        ),
        (
            "request-update-recipient",
            .updateRecipient(
                id: "100001",
                list: "23949",
                columns: [
                    "Mobile User Id": "", "Merged Date": "02/03/2015 18:04:05 GMT", "Merged Recipient Id": "100000",
                ]
            )
        ),
        (
            "request-insert-update-rows",
            .insertUpdate(
                rows: [
                    [
                        "Audit Record Id": "9D0E", "Old Recipient Id": "100001", "New Recipient Id": "100000",
                        "Create Date": "02/03/2015 18:04:05 GMT",
                    ]
                ],
                table: "29392"
            )
        ),
        ("request-add-list-column", .addColumn("Last Location Address", list: "23949", type: .text)),
    ]

    @Test("every document equals its sample, and every sample has its document", arguments: requests)
    func documents(name: String, call: XMLAPI) throws {
        #expect(try call.envelope() == text("\(name).xml"))
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasPrefix("request-") }
        #expect(Set(files) == Set(Self.requests.map { "\($0.0).xml" }))
    }

    @Test("a recipient, a fault and rejected rows are read from the samples")
    func answers() throws {
        let recipient = try XMLAPIResult(reading: bytes("answer-recipient.xml"))
        #expect(recipient.isSuccess && recipient.recipientID == "100001" && recipient.email == "ann@example.test")
        #expect(recipient.column("mobile user id") == "5E0C7A0E-61C6-4C8E-9C0B-0A9B3D1F2A11")
        #expect(recipient.column("Merged Date") == nil && recipient.columns.count == 2)
        let fault = try XMLAPIResult(reading: bytes("answer-fault.xml"))
        #expect(!fault.isSuccess && fault.errorCode == .recipientNotListMember)
        #expect(fault.faultText == "Recipient is not a member of the list.")
        let rows = try XMLAPIResult(reading: bytes("answer-row-failures.xml"))
        #expect(rows.isSuccess)
        #expect(
            rows.failures == [
                XMLAPIRowFailure(
                    isTransient: false,
                    reason: "Invalid Date Value in column: Create Date",
                    columns: ["Audit Record Id": "9D0E"]
                )
            ]
        )
    }

    @Test("the token endpoint's answers are read from the samples")
    func tokens() throws {
        func reply(_ status: Int, _ name: String) throws -> HTTPReply {
            HTTPReply(response: HTTPResponse(status: .init(code: status)), body: try bytes(name))
        }
        let granted = EngageWire.Grant(accessToken: "at-0001", refreshToken: "refresh", expiresIn: 14_399)
        #expect(try EngageWire.grant(reply(200, "token-granted.json")) == granted)
        let error = #expect(throws: ExperimentationError.self) {
            _ = try EngageWire.grant(reply(400, "token-refused.json"))
        }
        #expect(error?.code == .unauthorized && error?.message.contains("isn't valid") == false)
    }

    @Test("a behaviour equals the sample, and the mock finds no flaw in strict mode")
    func behaviors() async throws {
        let bench = EngageWorkbench(now: Date(timeIntervalSince1970: 1_422_986_645.678))
        await bench.settings(#"{"strictBehaviors":true}"#)
        let engage = bench.engage()
        // The sample's contact must be an existing recipient, so the second one of the list matches it.
        for id in ["M-0", "M-1"] { _ = try await bench.addRecipient(["Mobile User Id": id]) }
        try await engage.profile.storeMobileUserID("M-1")
        try await engage.profile.storeRecipientID("100001")
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "M-1"))
        try await engage.tracker(for: session).storeCampaign("Spring")
        try await session.track(
            .custom(
                "PLAYER LOADED",
                attributes: ["Event Source View": "HomeViewController", "Tags": ["MVSTERMIND", "Underground"]]
            )
        )
        try await client.flush()
        let sent = try #require(bench.exchanges("events").first?.request.body)
        #expect(try JSON.parse(sent) == JSON.parse(bytes("behaviors.json")))
        #expect(String(decoding: await bench.control("GET", "/behaviors"), as: UTF8.self).contains(#""flaws":[]"#))
    }

    @Test("the sample of routes matches links as the reference's examples do")
    func routes() throws {
        let routes = try DeepLinkRoutes(json: bytes("deep-link-routes.json"), file: "deep-link-routes.json")
        #expect(routes.logs)
        let campaign = routes.match(
            DeepLink("Silverpop://campaign/TestCurrentCampaign?CampaignEndTimeStamp=1419465600")
        )
        #expect(campaign.route == "campaign/:CurrentCampaign")
        #expect(
            campaign.parameters == ["CurrentCampaign": "TestCurrentCampaign", "CampaignEndTimeStamp": "1419465600"]
        )
        #expect(routes.match(DeepLink("Silverpop://test/5")).parameters == ["testId": "5"])
        #expect(routes.match(DeepLink("Silverpop://elsewhere")).handlers == ["postSilverpop"])
    }
}
