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
}
