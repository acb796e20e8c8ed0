import Experimentation
import Foundation
import Testing

@Suite("Given fields and texts")
struct GivenFieldTests {
    @Test("an item's fields are named if they are given, and its attributes have names of their own")
    func items() {
        #expect(CatalogItem(id: "a", attributes: ["color": "red"]).givenFields == [])
        let whole = CatalogItem(id: "a", name: "A", price: 1, currency: "EUR", categories: ["c"])
        #expect(whole.givenFields == ["name", "price", "currency", "categories"])
    }

    @Test("an order's fields are named if they are given, and its lines aren't")
    func orders() {
        #expect(Order(lines: [LineItem(item: CatalogItem(id: "a"))]).givenFields == [])
        let whole = Order(
            id: "A",
            total: 1,
            currency: "EUR",
            affiliation: "shop",
            shipping: 1,
            tax: 1,
            coupon: "TEN",
            paymentMethod: "card",
            shippingMethod: "ship"
        )
        #expect(
            whole.givenFields == [
                "id", "total", "currency", "affiliation", "shipping", "tax", "coupon", "paymentMethod",
                "shippingMethod",
            ]
        )
    }

    @Test("a stored text is read again, and a text is blank if nothing in it can be seen")
    func texts() async throws {
        let store = InMemoryStateStore()
        #expect(try await store.text(for: "a") == nil)
        try await store.setText("é\n", for: "a")
        #expect(try await store.text(for: "a") == "é\n")
        #expect(["", " \n\u{A0}"].allSatisfy { $0.isBlank && $0.unlessBlank == nil })
        #expect(" a ".unlessBlank == " a ")
    }
}
