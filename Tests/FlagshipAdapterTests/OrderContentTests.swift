import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: the content of orders")
struct OrderContentTests {
    /// Tracks an order, and returns its hits without the members that all hits have.
    private static func hits(of order: Order, _ bench: Bench) async throws -> [[String: FlagValue]] {
        let client = try await bench.client()
        try await client.session(for: User(id: "ada", consent: .granted)).track(.purchase(order))
        try await client.flush()
        return await bench.hits.map { hit in hit.filter { !["cid", "ds", "vid", "qt"].contains($0.key) } }
    }

    /// What the log says of delivered events.
    private static func leftOut(_ bench: Bench) -> [String] {
        bench.log.entries.filter { $0.event == "flagship.event" }.map(\.message)
    }

    /// Amounts that lose their last digit if a decimal fraction becomes a double in several steps.
    static let amounts: [(Decimal, Double)] = [(1999, 19.99), (3_999, 39.99), (999, 9.99), (-1999, -19.99), (7, 0.07)]
        .map { (Decimal(sign: $0.0 < 0 ? .minus : .plus, exponent: -2, significand: Decimal(abs($0.0))), $0.1) }

    @Test("amounts are sent as they are written", arguments: amounts)
    func writtenAmounts(amount: Decimal, sent: Double) async throws {
        let order = Order(
            id: "o",
            lines: [LineItem(item: CatalogItem(id: "sku", price: amount))],
            total: amount,
            shipping: amount,
            tax: amount
        )
        let hits = try await Self.hits(of: order, Bench())
        let amount = FlagValue.double(sent)
        #expect(
            hits == [
                [
                    "t": "TRANSACTION", "tid": "o", "ta": "purchase", "tr": amount, "ts": amount, "tt": amount,
                    "icn": 1,
                ],
                ["t": "ITEM", "tid": "o", "in": "sku", "ic": "sku", "ip": amount, "iq": 1],
            ]
        )
    }

    @Test("an order without a total is sent with the sum of its lines, to the cent")
    func sum() async throws {
        let price = Decimal(sign: .plus, exponent: -2, significand: 1999)
        let lines = [LineItem(item: CatalogItem(id: "a", price: price)), LineItem(item: CatalogItem(id: "b"))]
        #expect(try await Self.hits(of: Order(id: "o", lines: lines), Bench()).first?["tr"] == 19.99)
    }

    @Test("an item whose name is empty goes by its id, like one without a name", arguments: [nil, ""])
    func emptyName(name: String?) async throws {
        let lines = [LineItem(item: CatalogItem(id: "sku", name: name, price: 5))]
        let hits = try await Self.hits(of: Order(id: "o", lines: lines), Bench())
        #expect(hits.map { $0["in"] } == [nil, "sku"])
    }

    @Test("an order whose number or affiliation is empty is sent like one without", arguments: [nil, ""])
    func emptyNumber(text: String?) async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        let lines = [LineItem(item: CatalogItem(id: "sku", price: 5))]
        var ids: [String] = []
        for _ in 0..<2 {
            ids.append(try await session.trackWithID(.purchase(Order(id: text, lines: lines, affiliation: text))))
        }
        try await client.flush()
        let hits = await bench.hits
        #expect(hits.map { $0["tid"] } == ids.flatMap { [.string($0), .string($0)] })
        #expect(hits.compactMap { $0["ta"] } == ["purchase", "purchase"])
    }

    @Test("parts of an order that Flagship has no place for are named in the log, once it is sent")
    func leftOut() async throws {
        let bench = try await Bench()
        let item = CatalogItem(
            id: "sku",
            kind: .article,
            price: 5,
            currency: "USD",
            categories: ["kitchen", "sale"],
            attributes: ["color": "blue", "note": .null]
        )
        bench.transport.fail("hits", .status(503))
        let client = try await bench.client()
        let event = TrackingEvent.purchase(
            Order(id: "o", lines: [LineItem(item: item)], currency: "EUR"),
            attributes: ["shop": "one", "userLanguage": "fr"]
        )
        try await client.session(for: User(id: "ada", consent: .granted)).track(event)
        _ = try await client.flush(retrying: false)
        #expect(Self.leftOut(bench) == [])
        bench.time.advance(by: .seconds(120))
        try await client.flush()
        #expect(
            Self.leftOut(bench) == [
                "purchase: its items' attributes have no place on the wire: categories after the first, color, currency, kind",
                "purchase: its attributes have no place on the wire: shop",
            ]
        )
    }

    @Test(
        "an event that Flagship supports completely leaves nothing out",
        arguments: [
            TrackingEvent.purchase(
                Order(
                    id: "o",
                    lines: [LineItem(item: CatalogItem(id: "sku", currency: "EUR", categories: ["kitchen"]))],
                    currency: "EUR"
                )
            ),
            .custom("spun", value: 3, attributes: ["label": "wheel", "sessionNumber": 4]),
        ]
    )
    func nothingLeftOut(event: TrackingEvent) async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        try await client.session(for: User(id: "ada", consent: .granted)).track(event)
        try await client.flush()
        #expect(Self.leftOut(bench) == [])
    }

    @Test(
        "attributes that have no place in an event's hit are named in the log",
        arguments: [
            (TrackingEvent.custom("spun", attributes: ["color": "red", "label": 5]), "color, label"),
            (.screenView("home", attributes: ["label": "wheel", "location": "x"]), "label, location"),
            (
                TrackingEvent(
                    .exposure(
                        Exposure(
                            assignment: Assignment(
                                experiment: Experiment(id: "c"),
                                group: "g",
                                variation: Variation(id: "v")
                            )
                        )
                    ),
                    attributes: ["color": "red", "context": ["city": "lyon"]]
                ), "color"
            ),
        ]
    )
    func leftOutAttributes(event: TrackingEvent, names: String) async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        try await client.session(for: User(id: "ada", consent: .granted)).track(event)
        try await client.flush()
        #expect(Self.leftOut(bench) == ["\(event.type): its attributes have no place on the wire: \(names)"])
    }
}
