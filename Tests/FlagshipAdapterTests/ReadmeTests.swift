import AdapterKit
import Experimentation
import ExperimentationSQLite
import FlagshipAdapter
import Foundation
import MockVendors
import Testing

/// The effects of the README's program at the vendor: the exposure, the activation and the hit.
@Suite("A visit with Flagship")
struct ReadmeTests {
    static let world = """
        {"campaigns":[{"id":"c","name":"Button","type":"ab","slug":"button","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g","name":"All",
        "targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"vip","value":true}]}]},
        "variations":[{"id":"v","name":"Green","allocation":100,
        "modifications":{"type":"FLAG","value":{"btnColor":"green"}}}]}]}]}
        """

    @Test("delivers the exposure and the purchase")
    func work() async throws {
        let mock = FlagshipMock()
        try await mock.load(Data(Self.world.utf8))
        let server = MockServer(mock)
        try await server.start()
        let configuration = FlagshipConfiguration(
            environmentID: "bkk9glocmjcg0vtmdlng",
            apiKey: Secret(mock.apiKey),
            endpoints: .init(
                decision: try Endpoint("\(server.url)/v2/"),
                cdn: try Endpoint(server.url),
                events: try Endpoint(server.url)
            )
        )
        let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "events.sqlite")
        let order = Order(id: "o-1", lines: [LineItem(item: CatalogItem(id: "sku", price: 20))], total: 20)

        let client = try await ExperimentationClient(
            provider: FlagshipProvider(configuration: configuration),
            store: .sqlite(at: url)
        )
        let session = client.session(for: User(id: "u-1", attributes: ["vip": true], consent: .granted))
        try await session.refresh()
        let color = session.string("btnColor", default: "red")
        let why = session.details("btnColor", default: "red")
        try await session.track(.purchase(order))
        await client.shutdown()

        #expect(color == "green")
        #expect(why.reason == .targetingMatch || why.reason == .split)
        #expect(why.errorCode == nil)
        let operations = server.journal.map(\.operation)
        #expect(operations.first == "campaigns")
        #expect(operations.contains("activate"))
        #expect(operations.contains("hits"))
        await server.stop()
    }
}
