import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EvergageAdapter

@Suite("Cart and orders")
@MainActor
struct CartTests {
    static func line(_ id: String, _ quantity: Double? = nil, price: Double? = 10) -> EvergageLineItem {
        EvergageLineItem(productID: id, price: price, quantity: quantity)
    }

    private func line(of event: FlagValue?) -> FlagValue? { event?["cart"]?["singleLine"]?["Product"] }
    private func order(of event: FlagValue?) -> FlagValue? { event?["order"]?["Product"] }

    @Test("V61 a missing quantity means one")
    func quantity() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("sku-1"))
        await app.settle()
        #expect(line(of: app.transport.events.first) == ["_id": "sku-1", "quantity": 1, "price": 10])
        #expect(app.transport.events.first?["itemAction"] == "Add To Cart")
    }

    @Test("V62 quantities of the same product are added up")
    func addedUp() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("sku-1", 2))
        try app.global.addToCart(Self.line("sku-1", 2))
        await app.settle()
        #expect(await app.cart() == ["sku-1": 4])
    }

    @Test("V63 an article can't be put in the cart")
    func article() async throws {
        let app = try await App()
        try app.global.addToCart(EvergageLineItem(item: .article(id: "a")))
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        #expect(app.complaints(.error) == ["Add To Cart: a line whose item is not a product was dropped"])
    }

    @Test("V64 a product without a price is sent without one")
    func noPrice() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("sku-1", price: nil))
        await app.settle()
        #expect(line(of: app.transport.events.first) == ["_id": "sku-1", "quantity": 1])
        #expect(app.complaints(.warning).contains("a line has no price"))
    }

    @Test("V65 a quantity that isn't above zero is dropped", arguments: [0, -1, .nan, .infinity] as [Double])
    func badQuantity(quantity: Double) async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("sku-1", quantity))
        try app.global.removeFromCart(Self.line("sku-1", quantity))
        await app.settle()
        #expect(app.transport.sent.isEmpty)
        #expect(app.complaints(.error).count == 2)
    }

    @Test("V66 removing reduces the quantity; an unknown product changes nothing")
    func removed() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("sku-1", 4))
        try app.global.removeFromCart(Self.line("sku-1", 1))
        try app.global.removeFromCart(Self.line("unknown", 1))
        await app.settle()
        #expect(await app.cart() == ["sku-1": 3])
        try app.global.removeFromCart(Self.line("sku-1", 5))
        await app.settle()
        #expect(await app.cart() == [:])
        #expect(app.transport.events.last?["itemAction"] == "Remove From Cart")
    }

    @Test("V67 a whole cart replaces the former one, and empties it if it has no lines")
    func replaced() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("old", 4))
        try app.global.viewCart(EvergageOrder(lineItems: [Self.line("a", 1), Self.line("b", 2)]))
        await app.settle()
        #expect(await app.cart() == ["a": 1, "b": 2])
        try app.global.viewCart(EvergageOrder(lineItems: []))
        await app.settle()
        #expect(await app.cart() == [:])
        #expect(app.transport.events.last?["cart"] == ["complete": ["Product": []]])
    }

    @Test(
        "a cart without lines is empty, whether or not it has a list of them",
        arguments: [nil, []] as [[EvergageLineItem]?]
    )
    func emptied(lines: [EvergageLineItem]?) async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("old"))
        try app.global.viewCart(EvergageOrder(lineItems: lines))
        await app.settle()
        #expect(app.transport.events.last?["cart"] == ["complete": ["Product": []]])
        #expect(await app.cart() == [:])
    }

    @Test("a line's price that is negative or no number is left out", arguments: [-0.5, .nan, .infinity] as [Double])
    func badPrice(price: Double) async throws {
        let app = try await App()
        let line = Self.line("a", price: price)
        try app.global.addToCart(line)
        try app.global.viewCart(EvergageOrder(lineItems: [line]))
        try app.global.purchase(EvergageOrder(lineItems: [line]))
        await app.settle()
        let wire: FlagValue = ["_id": "a", "quantity": 1]
        #expect(self.line(of: app.transport.events.first) == wire)
        #expect(app.transport.events[1]["cart"]?["complete"]?["Product"] == [wire])
        #expect(order(of: app.transport.events.last)?["lineItems"] == [wire])
        #expect(
            app.complaints(.warning)
                == Array(repeating: "price is negative or not a number and was left out", count: 3)
        )
    }

    @Test("a cart without a valid line isn't sent; an invalid line among others is left out")
    func wrongLines() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("kept", 1))
        try app.global.viewCart(EvergageOrder(lineItems: [Self.line("a", 0)]))
        await app.settle()
        #expect(await app.cart() == ["kept": 1])
        try app.global.viewCart(EvergageOrder(lineItems: [Self.line("a", 0), Self.line("b", 2), Self.line(" ")]))
        await app.settle()
        #expect(await app.cart() == ["b": 2])
    }

    @Test("V68 a cart has neither an order id nor a value on the wire")
    func cartOnly() async throws {
        let app = try await App()
        try app.global.viewCart(
            EvergageOrder(orderID: "A", lineItems: [Self.line("a")], totalValue: 5, totalValueCurrency: "EUR")
        )
        await app.settle()
        let event = try #require(app.transport.events.first)
        #expect(event["order"] == nil)
        #expect(event["cart"] == ["complete": ["Product": [["_id": "a", "quantity": 1, "price": 10]]]])
    }

    @Test("V69 a purchase contains its lines, even two of one product, and empties the cart")
    func purchase() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("x"))
        try app.global.purchase(
            EvergageOrder(orderID: "A-1", lineItems: [Self.line("a", 1, price: 89.5), Self.line("a", 2, price: 45)])
        )
        await app.settle()
        let expected: FlagValue = [
            "orderId": "A-1",
            "lineItems": [
                ["_id": "a", "quantity": 1, "price": 89.5], ["_id": "a", "quantity": 2, "price": 45],
            ],
        ]
        #expect(order(of: app.transport.events.last) == expected)
        #expect(await app.cart() == [:])
        #expect(await app.orders().map { $0["totalValue"] } == [179.5])
    }

    @Test(
        "V70 a purchase without lines has none on the wire, and buys the cart",
        arguments: [nil, []] as [[EvergageLineItem]?]
    )
    func purchaseOfCart(lines: [EvergageLineItem]?) async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("a", 2))
        try app.global.purchase(EvergageOrder(orderID: "A-1", lineItems: lines))
        await app.settle()
        #expect(order(of: app.transport.events.last) == ["orderId": "A-1"])
        #expect(await app.orders().map { $0["lineItems"] } == [[["_id": "a", "quantity": 2, "price": 10]]])
    }

    @Test("V71 a purchase whose only line is invalid isn't sent, and the cart stays")
    func wrongPurchase() async throws {
        let app = try await App()
        try app.global.addToCart(Self.line("a", 2))
        try app.global.purchase(EvergageOrder(lineItems: [Self.line("b", 0)]))
        try app.global.purchase(nil)
        await app.settle()
        #expect(app.actions == ["Add To Cart"])
        #expect(await app.cart() == ["a": 2])
    }

    @Test("V72 an order id counts once")
    func once() async throws {
        let app = try await App()
        try app.global.purchase(EvergageOrder(orderID: "A-1", lineItems: [Self.line("a")]))
        try app.global.addToCart(Self.line("b"))
        try app.global.purchase(EvergageOrder(orderID: "A-1", lineItems: [Self.line("a")]))
        await app.settle()
        #expect(app.actions == ["Purchase", "Add To Cart", "Purchase"])
        #expect(await app.orders().count == 1)
        #expect(await app.cart() == ["b": 1])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 3, delivered: 3))
    }

    @Test("V73 two purchases without an order id are two orders", arguments: [nil, "  "] as [String?])
    func noOrderID(id: String?) async throws {
        let app = try await App()
        try app.global.purchase(EvergageOrder(orderID: id, lineItems: [Self.line("a")]))
        try app.global.purchase(EvergageOrder(orderID: id, lineItems: [Self.line("a")]))
        await app.settle()
        #expect(await app.orders().count == 2)
        #expect(order(of: app.transport.events.first)?["orderId"] == nil)
    }

    @Test("V74 a value of zero is ignored, and the lines count; any other value wins over them")
    func value() async throws {
        let app = try await App()
        let lines = [Self.line("a", 5)]
        for total in [0, -3, .nan, 10] as [Double] {
            try app.global.purchase(EvergageOrder(lineItems: lines, totalValue: total))
        }
        await app.settle()
        #expect(app.transport.events.map { order(of: $0)?["totalValue"] } == [nil, nil, nil, 10])
        #expect(await app.orders().map { $0["totalValue"] } == [50, 50, 50, 10])
    }

    @Test("V75 the currency of the value is sent unless it is blank")
    func currency() async throws {
        let app = try await App()
        try app.global.purchase(EvergageOrder(lineItems: [Self.line("a")], totalValueCurrency: "EUR"))
        try app.global.purchase(EvergageOrder(lineItems: [Self.line("a")], totalValueCurrency: " "))
        await app.settle()
        #expect(app.transport.events.map { order(of: $0)?["currency"] } == ["EUR", nil])
        #expect(await app.orders().map { $0["currency"] } == ["EUR", "USD"])
    }
}
