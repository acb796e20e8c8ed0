import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import EvergageAdapter

@Suite("Neutral events")
struct NeutralTests {
    static let mug = CatalogItem(id: "mug-1", name: "Mug", price: 12.5, currency: "EUR", categories: ["Kitchen"])
    static let who: [String: FlagValue] = ["anonId": "anon-1", "id": "u-77"]
    static let source: FlagValue = [
        "channel": "MobileApp", "application": "com.acme.shop", "time": 1_795_255_200_000,
    ]

    static func event(_ members: [String: FlagValue]) -> FlagValue {
        .object(members.merging(["user": .object(who), "source": source]) { first, _ in first })
    }

    @Test(
        "an event is sent in the vendor's format",
        arguments: [
            (TrackingEvent.custom("Home"), event(["action": "Home"])),
            (
                .viewItem(mug),
                event([
                    "action": "View Item", "itemAction": "View Item",
                    "catalog": [
                        "Product": [
                            "_id": "mug-1", "name": "Mug", "price": 12.5, "currency": "EUR",
                            "categories": [["type": "c", "_id": "Kitchen"]],
                        ]
                    ],
                ])
            ),
            (
                .viewTag(CatalogItem(id: "Acme", kind: .tag, attributes: ["tagType": "Brand"])),
                event([
                    "action": "View Tag", "itemAction": "View Tag", "catalog": ["Brand": ["_id": "Acme"]],
                ])
            ),
            (
                .addToCart(LineItem(item: mug, quantity: 2)),
                event([
                    "action": "Add To Cart", "itemAction": "Add To Cart",
                    "cart": ["singleLine": ["Product": ["_id": "mug-1", "name": "Mug", "quantity": 2, "price": 12.5]]],
                ])
            ),
            (
                .replaceCart([]),
                event([
                    "action": "View Cart", "itemAction": "View Cart", "cart": ["complete": ["Product": []]],
                ])
            ),
            (
                .purchase(Order(id: "A-1", lines: [LineItem(item: mug)], total: 20, currency: "EUR")),
                event([
                    "action": "Purchase", "itemAction": "Purchase",
                    "order": [
                        "Product": [
                            "orderId": "A-1", "totalValue": 20, "currency": "EUR",
                            "lineItems": [["_id": "mug-1", "name": "Mug", "quantity": 1, "price": 12.5]],
                        ]
                    ],
                ])
            ),
            (
                .screenView("Home"),
                event([
                    "action": "Home", "flags": ["pageView": true],
                    "source": [
                        "channel": "MobileApp", "application": "com.acme.shop", "time": 1_795_255_200_000,
                        "pageType": "Home",
                    ],
                ])
            ),
            (.sessionStarted, event(["action": "App Launch"])),
            (
                .review(
                    CatalogItem(id: "mug-1"),
                    Review(
                        rating: 80,
                        title: "Good",
                        content: "It holds.",
                        author: "ada",
                        date: Date(timeIntervalSince1970: 1_760_000_000),
                        isPurchaser: true
                    )
                ),
                event([
                    "action": "Review", "itemAction": "Review", "catalog": ["Product": ["_id": "mug-1"]],
                    "review": [
                        "itemId": "mug-1", "rating": 80, "title": "Good", "content": "It holds.",
                        "userDisplayName": "ada", "date": 1_760_000_000_000, "purchased": true,
                    ],
                ])
            ),
        ]
    )
    func shape(event: TrackingEvent, expected: FlagValue) async throws {
        let bench = try await Bench()
        try await bench.session().track(event)
        try await bench.client.flush()
        #expect(bench.transport.events == [expected])
        #expect(try await bench.client.ledger() == Ledger(accepted: 1, delivered: 1))
        let sent = try #require(bench.transport.sent.first)
        #expect(sent.request.path == "/api2/event/engage")
        #expect(sent.request.headerFields[.contentType] == "application/json; charset=utf-8")
        #expect(sent.request.headerFields[.accept] == "application/json")
        #expect(sent.eventID?.isEmpty == false)
    }

    @Test("what a neutral item can't express is read from its attributes under the vendor's names")
    func itemAttributes() async throws {
        let attributes = Attributes(of: [
            "description": "About it", "url": "https://a.test/1", "imageUrl": "https://a.test/1.png",
            "published": 1_760_000_000_000, "expiration": Date(timeIntervalSince1970: 1_770_000_000),
            "modifiedDate": 1_765_000_000_000.0, "promotionState": "Excluded",
            "location": ["city": "Ulm", "stateProvinceCode": "BW", "latitude": 48.4] as FlagValue,
            "rating": 4.5, "numRatings": 12, "subTitle": "More", "Brand": "Acme",
        ])
        let bench = try await Bench()
        let article = CatalogItem(id: "n-1", kind: .article, name: "News", attributes: attributes)
        try await bench.session().track(.share(article))
        try await bench.client.flush()
        #expect(
            bench.transport.events.map { $0["catalog"] } == [
                [
                    "Article": [
                        "_id": "n-1", "name": "News", "description": "About it", "url": "https://a.test/1",
                        "imageUrl": "https://a.test/1.png", "published": 1_760_000_000_000,
                        "expiration": 1_770_000_000_000, "modifiedDate": 1_765_000_000_000,
                        "promotionState": "Excluded",
                        "location": ["city": "Ulm", "stateProvinceCode": "BW", "latitude": 48.4], "rating": 4.5,
                        "numRatings": 12, "subTitle": "More",
                        "tags": [["type": "t", "tagType": "Brand", "_id": "Acme"]],
                    ]
                ]
            ]
        )
        #expect(bench.log.entries.filter { $0.event == "evergage.event" }.map(\.message) == [])
    }

    @Test(
        "unsupported events are rejected, and so are those that the vendor would reject",
        arguments: [
            (TrackingEvent.goalCompleted("g"), ErrorCode.unsupported),
            (.goalAbandoned("g"), .unsupported),
            (.sessionEnded(seconds: 1), .unsupported),
            (.notificationReceived(NotificationContent()), .unsupported),
            (.viewItem(nil), .unsupported),
            (TrackingEvent(.native(NativeEvent(type: "other.event"))), .unsupported),
            (.custom("  "), .invalidArgument),
            (.viewItem(CatalogItem(id: " ")), .invalidArgument),
            (.addToCart(LineItem(item: mug, quantity: 0)), .invalidArgument),
            (.addToCart(LineItem(item: CatalogItem(id: "a", kind: .article))), .invalidArgument),
            (.replaceCart([LineItem(item: mug, quantity: -1)]), .invalidArgument),
            (.purchase(Order(lines: [LineItem(item: CatalogItem(id: ""))])), .invalidArgument),
            (.notificationOpened(NotificationContent()), .unsupported),
        ]
    )
    func refused(event: TrackingEvent, code: ErrorCode) async throws {
        let bench = try await Bench()
        let session = bench.session()
        do throws(ExperimentationError) {
            try await session.track(event)
            Issue.record("it was accepted")
        } catch {
            #expect(error.code == code)
        }
        #expect(try await bench.client.ledger() == Ledger())
    }

    @Test("changed attributes are sent with the next event only, as strings, with null for removed ones")
    func attributes() async throws {
        let bench = try await Bench()
        let session = bench.session(User(id: "u-77", attributes: ["tier": "gold", "age": 36]))
        try await session.track(.custom("one"))
        try await session.track(.custom("two"))
        try session.update(["tier": .null, "vip": true])
        try await session.track(.custom("three"))
        try await bench.client.flush()
        #expect(
            bench.transport.events.map { $0["user"]?["attributes"] } == [
                ["tier": "gold", "age": "36"], nil, ["tier": .null, "vip": "true"],
            ]
        )
        #expect(await bench.user("u-77")?["attributes"] == ["age": "36", "vip": "true"])
    }

    @Test("a user without a name sends only the anonymous id, and keeps the cart when the name becomes known")
    func identity() async throws {
        let bench = try await Bench()
        let session = bench.session(User(id: "anon-1", anonymousID: "anon-1"))
        try await session.track(.addToCart(LineItem(item: Self.mug)))
        try await session.link(to: Identity(id: "u-77", anonymousID: "anon-1", isAuthenticated: true))
        try await session.track(.custom("Login"))
        try await bench.client.flush()
        #expect(
            bench.transport.events.map { $0["user"] } == [["anonId": "anon-1"], ["anonId": "anon-1", "id": "u-77"]]
        )
        #expect(await bench.user("u-77")?["cart"]?.arrayValue?.count == 1)
    }

    @Test("a user whose id differs from the anonymous one only in its bytes has a name")
    func equivalentIDs() async throws {
        let bench = try await Bench()
        try await bench.session(User(id: "e\u{301}", anonymousID: "\u{E9}")).track(.custom("A"))
        try await bench.client.flush()
        #expect(bench.transport.events.map { $0["user"]?["id"] != nil } == [true])
    }

    @Test(
        "a campaign reaches the handler of its surface after the event that it answers, and its impression reaches the vendor"
    )
    @MainActor
    func campaign() async throws {
        let bench = try await Bench(
            """
            {"campaigns":[{"campaignId":"c9","campaignName":"Home hero","experienceId":"xp7Qa","experienceName":"A",
             "target":"hero","data":{"text":"hi","n":1},"promotedItemKeys":[{"type":"p","_id":"sku-11"},
             {"type":"t","tagType":"Brand","_id":"Acme"}],"actions":["View Item"]}]}
            """
        )
        let session = bench.session()
        let shown = Shown()
        try session.setCampaignHandler(forTarget: "hero", shown.handler)
        try await session.track(.viewItem(Self.mug))
        try await bench.client.flush()
        await mainActorTurn()
        let campaign = Campaign(
            id: "c9",
            name: "Home hero",
            target: "hero",
            experience: Variation(id: "xp7Qa", name: "A"),
            messageID: "c9-xp7Qa",
            content: ["text": "hi", "n": 1],
            promotedItems: ["Product": ["sku-11"], "Brand": ["Acme"]]
        )
        #expect(shown.campaigns == [campaign])
        try await session.track(.campaignImpression(campaign))
        try await bench.client.flush()
        let stat = try #require(bench.transport.events.last)
        #expect(
            stat
                == Self.event([
                    "campaignStats": [
                        [
                            "experienceId": "xp7Qa", "stat": "Impression", "control": false,
                            "catalog": ["Product": ["sku-11"], "Brand": ["Acme"]],
                        ]
                    ],
                    "flags": ["noCampaigns": true],
                    "source": [
                        "channel": "MobileApp", "application": "com.acme.shop", "time": 1_795_255_200_000,
                        "contentZones": ["hero"],
                    ],
                ])
        )
        #expect(await bench.user("u-77")?["stats"]?.arrayValue?.count == 1)
    }

    @Test("the targets of a surface that have handlers go with each of its events, as the content zones")
    func contentZones() async throws {
        let bench = try await Bench()
        let session = bench.session()
        try await session.track(.custom("none"))
        for target in ["b", "a", "gone"] { try session.setCampaignHandler(forTarget: target) { _ in } }
        try session.setCampaignHandler(forTarget: "c", on: "home") { _ in }
        try session.setCampaignHandler(forTarget: "gone", nil)
        try await session.track(.custom("all"))
        try await session.track(.screenView("Home"), on: "home")
        try session.setCampaignHandler(forTarget: "late") { _ in }
        try await bench.client.flush()
        #expect(
            bench.transport.events.map { $0["source"]?["contentZones"] } == [nil, ["a", "b"], ["c"]]
        )
        #expect(bench.transport.events.last?["source"]?["pageType"] == "Home")
    }

    @Test("a campaign for a content zone comes once its target has a handler")
    @MainActor
    func zoneOfCampaign() async throws {
        let bench = try await Bench(
            #"{"campaigns":[{"campaignId":"c","experienceId":"x","target":"hero","contentZones":["hero"]}]}"#
        )
        let session = bench.session()
        try await session.track(.custom("before"))
        try await bench.client.flush()
        #expect(session.heldCampaigns() == [])
        let shown = Shown()
        try session.setCampaignHandler(forTarget: "hero", shown.handler)
        try await session.track(.custom("after"))
        try await bench.client.flush()
        await mainActorTurn()
        #expect(shown.ids == ["c"])
    }

    @Test("an event of a surface that has been closed since then requests no campaigns")
    func closedSurface() async throws {
        let bench = try await Bench()
        let session = bench.session()
        await bench.client.setConnectivity(.offline)
        for surface in ["home", "cart"] { try await session.track(.custom("A"), on: surface) }
        session.closeSurface("home")
        await bench.client.setConnectivity(.online)
        try await bench.client.flush()
        #expect(bench.transport.events.map { $0["flags"] } == [["noCampaigns": true], nil])
    }

    @Test("a clock that is set back after the start stops no campaigns")
    @MainActor
    func clockSetBack() async throws {
        let bench = try await Bench(#"{"campaigns":[\#(App.campaign("c", action: "A"))]}"#)
        let session = bench.session()
        let shown = Shown()
        try session.setCampaignHandler(forTarget: "T", shown.handler)
        bench.time.setNow(bench.time.now.addingTimeInterval(-3_600))
        try await session.track(.custom("A"))
        try await bench.client.flush()
        await mainActorTurn()
        #expect(shown.ids == ["c"])
        #expect(bench.transport.events.map { $0["flags"] } == [nil])
    }

    @Test(
        "an invalid configuration is rejected when the client is created, at the latest, with the setting's name",
        arguments: [
            (" ", "d", nil, 15, "account must not be blank"), ("a", "", nil, 15, "dataset must not be blank"),
            ("a", "d", "http://example.com", 15, "plain http is for loopback only; use https for example.com"),
            ("a b", "d", nil, 15, "account can't name a server: this is not a host's name"),
            ("a", "d", nil, 0, "timeout must be above zero"),
        ] as [(String, String, String?, Int, String)]
    )
    func badConfiguration(
        account: String,
        dataset: String,
        address: String?,
        timeout: Int,
        message: String
    ) async throws {
        do throws(ExperimentationError) {
            let configuration = try EvergageConfiguration(
                account: account,
                dataset: dataset,
                endpoint: address.map { (text) throws(ExperimentationError) in try Endpoint(text) },
                timeout: .seconds(timeout)
            )
            let provider = EvergageProvider(configuration: configuration, transport: ScriptedTransport([]))
            _ = try await provider.start(in: ProviderContext())
            Issue.record("it was taken")
        } catch {
            #expect(error == ExperimentationError(.configuration, message))
        }
    }

    @Test("negative ages are rejected, with the setting's name")
    func negativeAge() throws {
        let ages: [(WritableKeyPath<EvergageConfiguration, Duration>, String)] = [
            (\.campaignAge, "campaignAge"), (\.maximumAge, "maximumAge"),
        ]
        for (age, name) in ages {
            var configuration = EvergageConfiguration.test
            configuration[keyPath: age] = .seconds(-1)
            #expect(throws: ExperimentationError(.configuration, "\(name) must not be negative")) {
                try configuration.validate()
            }
            configuration[keyPath: age] = .zero
            try configuration.validate()
        }
    }

    @Test("the host is derived from the account, instance included")
    func host() throws {
        let endpoint = try EvergageConfiguration(account: "acme.us-1", dataset: "d").endpoint
        #expect(endpoint.description == "https://acme.us-1.evergage.com")
    }
}
