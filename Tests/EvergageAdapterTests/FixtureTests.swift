import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EvergageAdapter

@Suite("Wire samples")
@MainActor
struct FixtureTests {
    private func fixture(_ name: String) throws -> FlagValue {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "Conformance/Fixtures/Evergage/\(name).json")
        return try JSON.parse(try Data(contentsOf: file))
    }

    private func campaigns(_ name: String) throws -> [Campaign] {
        EvergageTranslation.campaigns(in: try #require(EvergageAnswer(try fixture(name))), isTest: false)
    }

    @Test("a server-side message is a campaign for its target")
    func message() throws {
        let expected = Campaign(
            id: "c9",
            name: "Home hero",
            target: "featuredProduct",
            experience: Variation(id: "xp7Qa", name: "A"),
            messageID: "m1",
            content: ["featuredProductName": "cameras", "count": "1"],
            promotedItems: ["Product": ["sku-11"]]
        )
        #expect(try campaigns("response-server-side-message") == [expected])
    }

    @Test("a template's payload is a campaign for its zone")
    func payload() throws {
        let expected = Campaign(
            id: "c2",
            name: "Recommendations",
            target: "home_recs",
            experience: Variation(id: "x2", name: "B", isControl: true),
            content: [
                "campaign": "c2", "experience": "x2", "userGroup": "Control", "contentZone": "home_recs",
                "products": [["id": "sku-1"]],
            ],
            isControlGroup: true
        )
        #expect(try campaigns("response-template-payload") == [expected])
    }

    @Test("a purchase equals the sample")
    func purchase() async throws {
        let app = try await App()
        app.evergage.userID = "u-77"
        app.evergage.setUserAttribute("gold", forName: "tier")
        try app.global.purchase(
            EvergageOrder(
                orderID: "A-1001",
                lineItems: [
                    EvergageLineItem(productID: "sku-11", price: 89.5, quantity: 1),
                    EvergageLineItem(productID: "sku-20", price: 45, quantity: 2),
                ],
                totalValue: 170,
                totalValueCurrency: "EUR"
            )
        )
        await app.settle()
        #expect(app.transport.events == [try fixture("event-purchase")])
    }
}
