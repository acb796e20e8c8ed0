import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EvergageAdapter

@Suite("Item actions")
@MainActor
struct ItemTests {
    @Test("V76 a review is tracked as such, with its details if there are any")
    func review() async throws {
        let app = try await App()
        try app.global.review(.p)
        try app.global.review(
            .p,
            details: EvergageReview(
                itemID: "other",
                date: Date(timeIntervalSince1970: 1_760_000_000),
                rating: 80,
                title: "Good",
                content: "It runs.",
                userDisplayName: "ada",
                purchased: true
            )
        )
        await app.settle()
        #expect(app.transport.events.map { $0["itemAction"] } == ["Review", "Review"])
        let details: FlagValue = [
            "itemId": "p", "date": 1_760_000_000_000, "rating": 80, "title": "Good", "content": "It runs.",
            "userDisplayName": "ada", "purchased": true,
        ]
        #expect(app.transport.events.map { $0["review"] } == [nil, details])
    }

    @Test("V77 a rating out of range is left out, the rest is sent", arguments: [0, 101, 50.5, .nan] as [Double])
    func rating(rating: Double) async throws {
        let app = try await App()
        try app.global.review(.p, details: EvergageReview(rating: rating, title: "Hm"))
        await app.settle()
        #expect(app.transport.events.first?["review"] == ["itemId": "p", "title": "Hm"])
    }

    @Test("V78 shares, comments and favorites have their names and the item")
    func others() async throws {
        let app = try await App()
        try app.global.share(.p)
        try app.global.comment(.p)
        try app.global.favorite(.p)
        try app.global.share(nil)
        await app.settle()
        #expect(app.actions == ["Share", "Comment", "Favorite"])
        #expect(app.transport.events.map { $0["itemAction"] } == ["Share", "Comment", "Favorite"])
        #expect(app.transport.events.map { $0["catalog"]?["Product"]?["_id"] } == ["p", "p", "p"])
    }

    @Test("V79 an action without a name isn't sent; a long one is truncated")
    func action() async throws {
        let app = try await App()
        try app.global.trackAction("")
        try app.global.trackAction(" ")
        try app.global.trackAction(String(repeating: "x", count: 2_000))
        await app.settle()
        #expect(app.actions == [String(repeating: "x", count: 1_024)])
    }

    @Test("V80 changes to an item after the call aren't sent")
    func snapshot() async throws {
        let app = try await App()
        var item = EvergageItem.p
        app.goOffline()
        try app.global.viewItem(item)
        item.name = "later"
        app.goOnline()
        await app.settle()
        #expect(item.name == "later")
        #expect(app.transport.events.last?["catalog"]?["Product"]?["name"] == "P")
    }

    @Test(
        "V81 an item is read from JSON with a type and an id",
        arguments: [
            (#"{"type":"p","_id":"1"}"#, EvergageItem.product(id: "1")),
            (#"{"type":"Product","_id":"1"}"#, .product(id: "1")),
            (#"{"type":"t","tagType":"Brand","_id":"1"}"#, .tag(id: "1", type: .brand)),
            (#"{"type":"c","_id":"1","department":true}"#, .category(id: "1", isDepartment: true)),
            (#"{"type":"p"}"#, nil), (#"{"_id":"1"}"#, nil), (#"{"type":"p","_id":" "}"#, nil),
            (#"{"type":"t","_id":"1"}"#, nil), (#"{"type":"?","_id":"1"}"#, nil), ("[]", nil), ("null", nil),
        ] as [(String, EvergageItem?)]
    )
    func fromJSON(text: String, item: EvergageItem?) throws {
        #expect(EvergageItem(json: try JSON.parse(text)) == item)
    }

    @Test("a list of items skips invalid ones; anything else than a list has none")
    func list() throws {
        let list = try JSON.parse(#"[{"type":"p","_id":"1"},{"type":"p"},7,{"type":"a","_id":"2"}]"#)
        #expect(EvergageItem.items(json: list) == [.product(id: "1"), .article(id: "2")])
        #expect(EvergageItem.items(json: ["type": "p", "_id": "1"]) == nil)
    }

    /// A product with all fields.
    static let whole: EvergageItem = {
        var item = EvergageItem.product(
            id: "sku-11",
            name: "Trail shoe",
            price: 89.5,
            url: "https://a/b",
            imageURL: "https://a/c",
            itemDescription: "A shoe"
        )
        item.published = Date(timeIntervalSince1970: 1)
        item.expiration = Date(timeIntervalSince1970: 2)
        item.tags = [.tag(id: "Acme", type: .brand, name: "Acme")]
        item.categories = [.category(id: "Shoes|Trail")]
        item.promotionState = .excluded
        item.location = EvergageLocation(latitude: 47.5, longitude: 8.5)
        item.rating = 4.5
        item.numRatings = 7
        item.priceDescription = "from"
        item.listPrice = 99
        item.currency = "EUR"
        item.inventoryCount = 3
        item.alternateID = "alt"
        return item
    }()

    @Test("an item's JSON has the vendor's names, and survives a round trip")
    func wholeItem() {
        let json: [String: FlagValue] = [
            "type": "p", "_id": "sku-11", "name": "Trail shoe", "description": "A shoe", "url": "https://a/b",
            "imageUrl": "https://a/c", "published": 1000, "expiration": 2000,
            "tags": [["type": "t", "tagType": "Brand", "_id": "Acme", "name": "Acme"]],
            "categories": [["type": "c", "_id": "Shoes|Trail"]], "promotionState": "Excluded",
            "location": ["latitude": 47.5, "longitude": 8.5], "rating": 4.5, "numRatings": 7, "price": 89.5,
            "priceDescription": "from", "listPrice": 99, "currency": "EUR", "inventoryCount": 3, "alternateId": "alt",
        ]
        #expect(Self.whole.json == json)
        #expect(EvergageItem(json: .object(json)) == Self.whole)
    }

    @Test("fields that only other kinds have are ignored when an item is read")
    func fieldsOfOtherKinds() throws {
        let json: [String: FlagValue] = [
            "type": "c", "_id": "c", "price": 9, "currency": "EUR", "categories": [["type": "c", "_id": "d"]],
            "subTitle": "S",
        ]
        #expect(EvergageItem(json: .object(json)) == .category(id: "c"))
    }

    @Test("articles have a date, a subtitle and categories; the six kinds have their codes")
    func kinds() {
        var article = EvergageItem.article(id: "a", name: "N", subTitle: "S", url: "u", itemDescription: "D")
        article.modifiedDate = Date(timeIntervalSince1970: 3)
        article.price = 5
        #expect(
            article.json == [
                "type": "a", "_id": "a", "name": "N", "subTitle": "S", "url": "u", "description": "D",
                "modifiedDate": 3000,
            ]
        )
        #expect(EvergageItem.blog(id: "b").json == ["type": "b", "_id": "b"])
        #expect(
            EvergageItem.tag(id: "t", type: .contentClass).json == ["type": "t", "_id": "t", "tagType": "ContentClass"]
        )
        #expect(EvergageTagType.allCases.map(\.rawValue) == Array(0...6))
        #expect(EvergageItem.PromotionState.allCases.map(\.rawValue) == [0, 1, 2])
    }

    @Test("invalid numbers, nameless tags and impossible coordinates are left out, and logged")
    func nonsense() throws {
        var item = EvergageItem.product(id: "1", price: .nan)
        item.listPrice = -1
        item.rating = .infinity
        item.numRatings = -2
        item.inventoryCount = -1
        item.location = EvergageLocation(latitude: 91, longitude: 0)
        item.tags = [.tag(id: " ", type: .brand), .tag(id: "Acme", type: .brand)]
        item.categories = [.category(id: "")]
        let action = try EvergageAction.activity(.viewItem, item)
        #expect(
            action.members["catalog"] == [
                "Product": ["_id": "1", "tags": [["type": "t", "_id": "Acme", "tagType": "Brand"]]]
            ]
        )
        #expect(action.notes.count == 8)
        #expect(action.notes.allSatisfy { $0.level == .warning })
    }

    @Test("places have five names and can be created in three ways")
    func places() {
        #expect(
            EvergageLocation(city: "Bern", stateProvinceCode: "BE").json == ["city": "Bern", "stateProvinceCode": "BE"]
        )
        #expect(EvergageLocation(postalCode: "3000").json == ["postalCode": "3000"])
        #expect(EvergageLocation(json: ["postalCode": "3000"]) == EvergageLocation(postalCode: "3000"))
        #expect(EvergageLocation(json: 3) == nil)
        #expect(EvergageLocation(json: ["lat": 48.4, "city": 3]) == nil)
    }

    @Test("a place without a value isn't sent")
    func emptyPlace() {
        var item = EvergageItem.product(id: "p")
        var nowhere = EvergageLocation(postalCode: "3000")
        nowhere.postalCode = nil
        item.location = nowhere
        #expect(item.json == ["type": "p", "_id": "p"])
    }

    @Test("lines, orders and reviews survive a round trip through JSON")
    func others() {
        let order = EvergageOrder(
            orderID: "A",
            lineItems: [EvergageLineItem(item: Self.whole, quantity: 2), EvergageLineItem(item: .q)],
            totalValue: 9.5,
            totalValueCurrency: "EUR"
        )
        #expect(EvergageOrder(json: .object(order.json)) == order)
        #expect(EvergageOrder(json: 1) == nil)
        #expect(EvergageLineItem(json: [:]) == nil)
        let review = EvergageReview(
            itemID: "p",
            date: Date(timeIntervalSince1970: 1),
            rating: 1,
            title: "t",
            content: "c",
            userDisplayName: "n",
            purchased: false
        )
        #expect(EvergageReview(json: .object(review.json)) == review)
        #expect(EvergageReview(json: []) == nil)
    }

    @Test("a view of another kind than its call's is dropped")
    func wrongKind() async throws {
        let app = try await App()
        try app.global.viewCategory(.p)
        try app.global.viewTag(.p)
        try app.global.viewItem(.category(id: "Shoes"))
        await app.settle()
        #expect(app.transport.events.map { $0["catalog"] } == [["Category": ["_id": "Shoes"]]])
        #expect(app.complaints(.error).count == 2)
    }

    @Test("a text of a megabyte is sent whole, or rejected with a reason, and the next event is sent")
    func large() async throws {
        let app = try await App()
        try app.global.viewItem(.product(id: "1", name: String(repeating: "x", count: 1 << 20)))
        try app.global.trackAction("next")
        await app.settle()
        await app.pass(600)
        #expect(app.actions.last == "next")
        let ledger = try await app.evergage.client?.ledger()
        #expect(ledger?.isBalanced == true)
        #expect(ledger?.pending == 0)
    }
}
