import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import EvergageAdapter

@Suite("Network and answers")
@MainActor
struct NetworkTests {
    /// Answers the first requests as scripted, and lets the rest through.
    private func script(_ app: App, _ replies: [HTTPReply]) {
        let rest = Mutex(replies)
        app.transport.setDetour { _, _ throws(ExperimentationError) in
            rest.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    @Test("V82 an event that fails twice is sent a third time under the same id, in order, and recorded once")
    func again() async throws {
        let app = try await App()
        script(app, [.made(503), .made(503)])
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        for _ in 0..<4 { await app.pass(300) }
        #expect(app.actions == ["A", "A", "A", "B"])
        #expect(Set(app.transport.sent.prefix(3).map(\.eventID)).count == 1)
        #expect(await app.vendor.received.map(\.action) == ["A", "B"])
    }

    @Test("an event is sent whatever its id, in a form that is the same each time and unlike any other id's")
    func anyID() async throws {
        let bench = try await Bench()
        for id in ["a", "a\nb", "a%0Ab", " a", "a\u{1}", "é", ""] {
            try await bench.client.track(.custom("A"), for: User(id: "u-77"), id: id)
        }
        try await bench.client.flush()
        let written = ["a", "a%0Ab", "a%250Ab", "%20a", "a%01", "%C3%A9", ""]
        #expect(bench.transport.sent.map(\.eventID) == written)
        #expect(try await bench.client.ledger() == Ledger(accepted: 7, delivered: 7))
    }

    @Test("a part of a neutral event that is left out is logged once, however often it is sent")
    func saidOnce() async throws {
        let app = try await App()
        script(app, [.made(503), .made(503)])
        let session = try #require(app.evergage.session)
        try await session.track(.addToCart(LineItem(item: CatalogItem(id: "mug-1"))))
        await app.settle()
        for _ in 0..<4 { await app.pass(300) }
        #expect(app.actions == ["Add To Cart", "Add To Cart", "Add To Cart"])
        #expect(app.complaints(.warning) == ["addToCart: a line has no price"])
    }

    @Test(
        "parts that the wire can't carry are logged",
        arguments: [
            (TrackingEvent.custom("A", value: 2), ["custom: its value has no place on the wire"]),
            (
                TrackingEvent(.custom(name: "A", value: nil), attributes: ["size": 44, "color": "red"]),
                ["custom: its attributes have no place on the wire: color, size"]
            ),
            (.custom("A"), []),
            (
                .purchase(order { $0.currency = "EUR" }),
                ["purchase: its items' attributes have no place on the wire: categories"]
            ),
            (
                .purchase(order { $0.currency = "USD" }),
                ["purchase: its items' attributes have no place on the wire: categories, currency"]
            ),
            (
                .purchase(
                    order { order in
                        order.lines[0].item.categories = []
                        (order.currency, order.affiliation, order.coupon) = ("EUR", "shop", "TEN")
                        (order.shipping, order.tax, order.total) = (4, 2, 0)
                        (order.paymentMethod, order.shippingMethod) = ("card", "ship")
                    }
                ),
                [
                    "purchase: a total of 0.0 isn't sent; the vendor takes the sum of the lines",
                    "purchase: its fields have no place on the wire: affiliation, coupon, paymentMethod, shipping, shippingMethod, tax",
                ]
            ),
            (
                .addToCart(order { _ in }.lines[0]),
                ["addToCart: its items' attributes have no place on the wire: categories, currency"]
            ),
        ]
    )
    func noPlace(event: TrackingEvent, said: [String]) async throws {
        let bench = try await Bench()
        try await bench.session().track(event)
        try await bench.client.flush()
        #expect(bench.log.entries.filter { $0.event == "evergage.event" }.map(\.message) == said)
        #expect(bench.transport.events.count == 1)
    }

    /// An order of one item with a currency and a category of its own.
    private nonisolated static func order(_ change: (inout Order) -> Void) -> Order {
        let item = CatalogItem(id: "m", price: 9, currency: "EUR", categories: ["c"])
        var order = Order(id: "A-1", lines: [LineItem(item: item)], total: 9)
        change(&order)
        return order
    }

    @Test("attributes of items that aren't the vendor's or their kind's, or have another type, are logged")
    func noPlaceForItems() async throws {
        let shoe = CatalogItem(
            id: "sku-1",
            price: 9,
            attributes: ["Brand": "Acme", "color": "red", "rating": "high", "tagType": "Brand", "url": .null]
        )
        let brand = CatalogItem(id: "Acme", kind: .tag, attributes: ["tagType": "Brand"])
        let news = CatalogItem(
            id: "n",
            kind: .article,
            price: 9,
            currency: "EUR",
            categories: ["c"],
            attributes: ["listPrice": 9, "alternateId": "x", "location": ["lat": 48.4]]
        )
        let mug = CatalogItem(
            id: "m",
            attributes: ["subTitle": "S", "modifiedDate": 0, "expiration": "9999-12-31T00:00:00Z", "department": true]
        )
        let bench = try await Bench()
        let session = bench.session()
        try await session.track(.viewItem(shoe))
        try await session.track(.viewTag(brand))
        try await session.track(.share(news))
        try await session.track(.viewCategory(CatalogItem(id: "top", kind: .category, categories: ["other"])))
        try await session.track(.share(mug))
        try await session.track(.purchase(Order(lines: [LineItem(item: shoe), LineItem(item: shoe)])))
        try await bench.client.flush()
        #expect(
            bench.log.entries.filter { $0.event == "evergage.event" }.map(\.message) == [
                "viewItem: its items' attributes have no place on the wire: color, rating, tagType",
                "share: its items' attributes have no place on the wire: alternateId, currency, listPrice, location, price",
                "viewCategory: its items' attributes have no place on the wire: categories",
                "share: its items' attributes have no place on the wire: department, expiration, modifiedDate, subTitle",
                "purchase: its items' attributes have no place on the wire: Brand, color, rating, tagType",
            ]
        )
        #expect(
            bench.transport.events.dropFirst(2).prefix(2).map { $0["catalog"] } == [
                ["Article": ["_id": "n", "categories": [["_id": "c", "type": "c"]]]], ["Category": ["_id": "top"]],
            ]
        )
    }

    @Test(
        "any answer to a statistics ping is final, and later pings are sent",
        arguments: ["", "<html>", "{}", "GIF89a", #"{"status":"NO"}"#]
    )
    func pingAnswer(body: String) async throws {
        let app = try await App()
        script(app, [.made(200, "{}"), .made(200, body)])
        let screen = try app.shownScreen()
        screen.viewItem(.p)
        await app.pass(5)
        screen.viewItem(nil)
        screen.trackAction("A")
        await app.settle()
        #expect(app.pings == ["p 5000"])
        #expect(app.actions == ["View Item", "A"])
        let ledger = try await app.evergage.client?.ledger()
        #expect(ledger == Ledger(accepted: 3, delivered: 2, dropped: [.rejected: 1]))
    }

    @Test("a reachability check leaves no trace at the vendor")
    func reach() async throws {
        let app = try await App()
        try await EvergageProvider.reach(try #require(app.evergage.client))
        let flags: FlagValue = ["doNotTrack": true, "noCampaigns": true, "nonInteractive": true]
        #expect(app.transport.events.map { $0["flags"] } == [flags])
        #expect(await app.user("reach") == nil)
        #expect(try await app.evergage.client?.ledger() == Ledger())
    }

    @Test(
        "a failed reachability check has its reason",
        arguments: [(401, ErrorCode.unauthorized), (404, .configuration), (503, .transport), (302, .transport)]
    )
    func notReached(status: Int, code: ErrorCode) async throws {
        let app = try await App()
        script(app, [.made(status)])
        let client = try #require(app.evergage.client)
        let error = await #expect(throws: ExperimentationError.self) { try await EvergageProvider.reach(client) }
        #expect(error?.code == code)
    }

    @Test("a reachability check that stops before the vendor answers says why")
    func notTrusted() async throws {
        let app = try await App()
        let reason = ExperimentationError(.configuration, "the certificate isn't trusted")
        app.transport.setDetour { _, _ throws(ExperimentationError) in throw reason }
        let client = try #require(app.evergage.client)
        let error = await #expect(throws: ExperimentationError.self) { try await EvergageProvider.reach(client) }
        #expect(error?.code == .configuration)
        #expect(error?.message == reason.message)
    }

    @Test("V82 an event whose answer was lost isn't recorded twice")
    func answerLost() async throws {
        let app = try await App()
        let isFirst = Mutex(true)
        let vendor = app.vendor
        app.transport.setDetour { request, body throws(ExperimentationError) in
            guard
                isFirst.withLock({ first in
                    defer { first = false }; return first
                })
            else { return nil }
            _ = await vendor.respond(
                to: MockRequest(
                    method: "POST",
                    path: request.path ?? "",
                    headers: request.headerFields.map { .init($0.name.rawName, $0.value) },
                    body: body
                )
            )
            throw ExperimentationError(.transport, "the connection broke")
        }
        try app.global.addToCart(EvergageLineItem(item: .p))
        await app.settle()
        await app.pass(300)
        #expect(await app.vendor.received.map(\.isRepetition) == [false, true])
        #expect(await app.cart() == ["p": 1])
    }

    @Test("V83 an event that the vendor rejects is dropped, and the next one is sent", arguments: [400, 404, 413, 422])
    func refused(status: Int) async throws {
        let app = try await App()
        script(app, [.made(status)])
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == ["A", "B"])
        #expect(
            try await app.evergage.client?.ledger() == Ledger(accepted: 2, delivered: 1, dropped: [.rejected: 1])
        )
        #expect(app.complaints(.error).count == 1)
    }

    @Test(
        "in a batch, nothing is sent behind an event that must be retried",
        arguments: [
            (503, .outage(because: .answered(503))), (429, .outage(because: .patience)),
            (401, .stop(ExperimentationError(.unauthorized, "the vendor answered 401"))),
        ] as [(Int, Verdict)]
    )
    func behind(status: Int, verdict: Verdict) async throws {
        let transport = VendorTransport(EvergageMock())
        let time = ManualTime()
        let roles = try await EvergageProvider(configuration: .test, transport: transport)
            .start(in: ProviderContext(environment: ClientEnvironment(time: time)))
        let replies = Mutex([nil, HTTPReply.made(422), HTTPReply.made(status)])
        transport.setDetour { _, _ throws(ExperimentationError) in
            replies.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
        let batch = ["A", "A", "B", "B", "A", "C"].enumerated().map { place, user in
            Envelope(id: "\(place)", identity: Identity(id: user), event: .custom("\(place)"), date: time.now)
        }
        let report = try #require(await roles.events?.deliver(batch))
        #expect(transport.events.map { $0["action"] } == ["0", "1", "2"])
        #expect(report.verdicts == .each([.delivered, .rejected("status 422"), verdict, nil, nil, nil]))
    }

    @Test(
        "V84 HTML with 200 isn't delivery: the event is sent again (a deviation, see decision 0160)",
        arguments: ["<html>Log in</html>", "", "{\"campaignResponses\":[", "[]"]
    )
    func notJSON(body: String) async throws {
        let app = try await App()
        script(app, [.made(200, body)])
        try app.global.trackAction("A")
        await app.settle()
        await app.pass(300)
        #expect(app.actions == ["A", "A"])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, delivered: 1))
    }

    @Test("V85 a busy error with 200 is retried, even if its code is a text", arguments: ["3", #""3""#])
    func busy(code: String) async throws {
        let app = try await App()
        script(app, [.made(200, #"{"errorCode":\#(code)}"#)])
        try app.global.trackAction("A")
        await app.settle()
        await app.pass(300)
        #expect(app.actions == ["A", "A"])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 1, delivered: 1))
    }

    @Test("V85 any other error code with 200 is final", arguments: ["1", "2", "4", "5", "99", #""5""#])
    func errorCodes(code: String) async throws {
        let app = try await App()
        script(app, [.made(200, #"{"campaignResponses":[],"errorCode":\#(code)}"#)])
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        #expect(app.actions == ["A", "B"])
        #expect(
            try await app.evergage.client?.ledger() == Ledger(accepted: 2, delivered: 1, dropped: [.rejected: 1])
        )
        #expect(app.complaints(.error).count == 1)
    }

    @Test("V86 nothing is sent for as long as the vendor asks")
    func retryAfter() async throws {
        let app = try await App()
        script(app, [.made(429, retryAfter: "7")])
        try app.global.trackAction("A")
        await app.settle()
        await app.pass(6.9)
        #expect(app.actions == ["A"])
        await app.pass(0.2)
        #expect(app.actions == ["A", "A"])
    }

    @Test("V87 if too many events wait, the oldest one that isn't a purchase is dropped")
    func overflow() async throws {
        let app = try await App(
            store: ClientStore(outbox: InMemoryOutboxStore(maximumCount: 1000), state: InMemoryStateStore())
        )
        app.evergage.setConnectivity(.offline)
        await app.settle()
        try app.global.purchase(EvergageOrder(orderID: "A", lineItems: [EvergageLineItem(item: .p)]))
        for number in 1...1000 { try app.global.trackAction("E\(number)") }
        await app.settle()
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions.count == 1000)
        #expect(app.actions.prefix(2) == ["Purchase", "E2"])
        let ledger = try await app.evergage.client?.ledger()
        #expect(ledger == Ledger(accepted: 1001, delivered: 1000, dropped: [.overflow: 1]))
    }

    @Test("V87 of the events that aren't purchases the oldest is dropped, whatever it is")
    func overflowOfAnyKind() async throws {
        let app = try await App(
            store: ClientStore(outbox: InMemoryOutboxStore(maximumCount: 4), state: InMemoryStateStore())
        )
        app.evergage.setConnectivity(.offline)
        await app.settle()
        try app.global.purchase(EvergageOrder(orderID: "A", lineItems: [EvergageLineItem(item: .p)]))
        try app.global.trackImpression(StatTests.campaign())
        try app.global.viewItem(.p)
        for action in ["A", "B", "C"] { try app.global.trackAction(action) }
        await app.settle()
        app.evergage.setConnectivity(.online)
        await app.settle()
        #expect(app.actions == ["Purchase", "A", "B", "C"])
        let ledger = try await app.evergage.client?.ledger()
        #expect(ledger == Ledger(accepted: 6, delivered: 4, dropped: [.overflow: 2]))
    }

    @Test("V88 events waiting when the process died are sent once by the next run")
    func relaunch() async throws {
        let store = ClientStore.inMemory()
        let first = try await App(store: store)
        first.evergage.setConnectivity(.offline)
        await first.settle()
        try first.global.trackAction("A")
        await first.settle()
        let second = try await App(store: store)
        await second.settle()
        #expect(second.actions == ["A"])
        let third = try await App(store: store)
        await third.settle()
        #expect(third.actions == [])
    }

    @Test("an event that is a week old is no longer sent")
    func expired() async throws {
        let app = try await App()
        app.goOffline()
        try app.global.trackAction("A")
        await app.settle()
        app.goOnline()
        app.time.advance(by: .seconds(7 * 24 * 3600 + 1))
        try app.global.trackAction("B")
        await app.settle()
        #expect(await app.vendor.received.map(\.action) == ["B"])
        #expect(try await app.evergage.client?.ledger().dropped == [.expired: 1])
    }

    @Test("redirects lose nothing", arguments: [301, 302, 307])
    func redirect(status: Int) async throws {
        let app = try await App()
        script(app, [.made(status)])
        try app.global.trackAction("A")
        await app.settle()
        await app.pass(300)
        #expect(app.actions == ["A", "A"])
    }

    @Test("rejected credentials stop delivery and keep everything", arguments: [401, 403])
    func notLetIn(status: Int) async throws {
        let app = try await App()
        script(app, [.made(status)])
        try app.global.trackAction("A")
        try app.global.trackAction("B")
        await app.settle()
        await app.pass(600)
        #expect(app.actions == ["A"])
        #expect(try await app.evergage.client?.ledger() == Ledger(accepted: 2, pending: 2))
    }

    @Test("on the way back to the foreground, what waits for a retry is tried at once")
    func foreground() async throws {
        let app = try await App()
        app.goOffline()
        try app.global.trackAction("A")
        await app.settle()
        let before = app.actions.count
        app.evergage.setApplicationState(.background)
        try await eventually("an attempt in the background") { app.actions.count > before }
        app.goOnline()
        app.evergage.setApplicationState(.foreground)
        try await eventually("the event arrives") { await app.vendor.received.map(\.action) == ["A"] }
    }

    @Test("ten requests fit into five seconds; more wait, and none is lost")
    func pace() async throws {
        var configuration = EvergageConfiguration.test
        configuration.pace = .init(requests: 10, per: .seconds(5))
        let app = try await App(configuration: configuration)
        for number in 1...12 { try app.global.trackAction("E\(number)") }
        let delivery = Task { await app.evergage.flush() }
        try await eventually("ten actions") { app.actions.count >= 10 }
        #expect(app.actions.count == 10)
        // The idle timer, the rate limit, and the flush's deadline.
        await app.time.waitForSleepers(3)
        #expect(app.actions.count == 10)
        app.time.advance(by: .seconds(5))
        await delivery.value
        #expect(app.actions.count == 12)
    }
}

@Suite("Answers with campaigns")
struct AnswerTests {
    private func campaigns(_ text: String, isTest: Bool = false) throws -> [Campaign] {
        let answer = try #require(EvergageAnswer(try JSON.parse(text)))
        return EvergageTranslation.campaigns(in: answer, isTest: isTest)
    }

    @Test("V33 two targets in one experience are two campaigns")
    func twoMessages() throws {
        let found = try campaigns(
            """
            {"campaignResponses":[{"campaignId":"c","experienceId":"x","serverSideMessages":[
             {"id":"m1","targetName":"a","data":"{}","dataMap":{"n":"1"}},{"id":"m2","targetName":"b"}]}]}
            """
        )
        #expect(found.map(\.target) == ["a", "b"])
        #expect(found.map(\.experience.id) == ["x", "x"])
        #expect(found.map(\.messageID) == ["m1", "m2"])
        #expect(found.map(\.content) == [["n": "1"], [:]])
    }

    @Test(
        "V34 the target comes from the payload or from the campaign",
        arguments: [
            (#"{"contentZone":"zone","k":1}"#, "zone"), (#"{"target":"t","contentZone":"zone"}"#, "t"),
            (#"{"target":" ","targetName":"n"}"#, "n"), (#"{"k":1}"#, "Hero"), ("{}", "Hero"),
        ]
    )
    func payload(payload: String, target: String) throws {
        let found = try campaigns(
            #"{"campaignResponses":[{"campaignId":"c","campaignName":"Hero","experienceId":"x","payload":\#(payload)}]}"#
        )
        #expect(found.map(\.target) == [target])
        #expect(found.map { FlagValue.object($0.content) } == [try JSON.parse(payload)])
    }

    @Test("V32 a payload marks the control group as well")
    func control() throws {
        let found = try campaigns(
            #"{"campaignResponses":[{"experienceId":"x","payload":{"target":"t","userGroup":"Control"}}]}"#
        )
        #expect(found.map(\.isControlGroup) == [true])
    }

    @Test("V35 malformed campaigns don't hide others")
    func malformed() throws {
        let good = #"{"experienceId":"x","serverSideMessages":[{"id":"m","targetName":"a"}]}"#
        let found = try campaigns(
            """
            {"campaignResponses":[7,null,{"experienceId":" "},{"campaignId":"c"},\(good),
             {"experienceId":"y","serverSideMessages":"?","payload":[]},
             {"experienceId":"z","serverSideMessages":[{"id":"m"},{"id":1,"targetName":"b","dataMap":3,
              "promotedItemKeys":[1,{"type":"p"},{"type":"?","_id":"1"}]}]}]}
            """
        )
        #expect(found.map(\.target) == ["a", "b"])
        #expect(found.last?.promotedItems == ["?": ["1"]])
    }

    @Test("a payload doesn't replace unreadable messages")
    func unreadableMessages() throws {
        let text = """
            {"campaignResponses":[{"experienceId":"x","campaignName":"Hero","payload":{"target":"t"},
              "serverSideMessages":[{"id":"m","targetName":" "},7]}]}
            """
        #expect(try campaigns(text) == [])
    }

    @Test("a campaign of an unknown type is read by its content", arguments: ["zz", "", "ng"])
    func unknownTypes(type: String) throws {
        let text = """
            {"campaignResponses":[{"type":"\(type)","campaignType":"Odd","displayMode":7,"experienceId":"x",
              "serverSideMessages":[{"type":"?","id":"m","targetName":"a","data":"not JSON","dataMap":{"n":1}}]}],
             "errorCode":0,"somethingNew":{}}
            """
        let found = try campaigns(text)
        #expect(found.map(\.target) == ["a"] && found.first?.content == ["n": 1])
    }

    @Test("unpublished campaigns are returned only in test mode", arguments: ["Testing", "Disabled", "Odd"])
    func states(state: String) throws {
        let text =
            #"{"campaignResponses":[{"experienceId":"x","state":"\#(state)","payload":{"target":"t"}}]}"#
        #expect(try campaigns(text) == [])
        #expect(try campaigns(text, isTest: true).count == 1)
    }

    @Test(
        "an answer with members of wrong types is an answer without campaigns",
        arguments: [#"{"campaignResponses":"?"}"#, #"{"campaignResponses":{}}"#, #"{"errorCode":"x"}"#, "{}"]
    )
    func wrongKinds(text: String) throws {
        #expect(try campaigns(text) == [])
    }
}

@Suite("Settings in a file")
struct SettingsTests {
    private func read(_ text: String) throws(ExperimentationError) -> EvergageConfiguration {
        var reader = try SettingsReader(json: Array(text.utf8), file: "evergage.json")
        _ = reader.value("vendor")
        let configuration = try EvergageConfiguration(reading: &reader)
        try reader.finish()
        return configuration
    }

    @Test("every setting is read")
    func whole() throws {
        var expected = try EvergageConfiguration(
            account: "acme.us-1",
            dataset: "engage",
            endpoint: Endpoint("http://127.0.0.1:8081/")
        )
        expected.channel = "Kiosk"
        expected.application = "com.acme"
        expected.locale = "de_CH"
        expected.usePushNotifications = true
        expected.useDesignMode = true
        expected.usesRemoteConfiguration = true
        expected.timeout = .seconds(3)
        expected.campaignAge = .seconds(4)
        expected.maximumAge = .seconds(5)
        expected.pace = .init(requests: 2, per: .seconds(5))
        let found = try read(
            """
            {"vendor":"evergage","account":"acme.us-1","dataset":"engage","endpoints":{"base":"http://127.0.0.1:8081/"},
             "channel":"Kiosk","application":"com.acme","locale":"de_CH","usePushNotifications":true,"useDesignMode":true,
             "usesRemoteConfiguration":true,"timeout":3,"campaignAge":4,"maximumAge":5,"requestsPerFiveSeconds":2}
            """
        )
        #expect(found == expected)
        #expect(try read(#"{"account":"a","dataset":"d","requestsPerFiveSeconds":0}"#).pace == nil)
    }

    @Test(
        "errors name the file and the setting",
        arguments: [
            (#"{"dataset":"d"}"#, "account"), (#"{"account":"a","dataset":" "}"#, "dataset must not be blank"),
            (#"{"account":"a","dataset":"d","timeout":"x"}"#, "timeout"),
            (#"{"account":"a","dataset":"d","baseURL":"http://example.com"}"#, "https"),
            (#"{"account":"a","dataset":"d","unknown":1}"#, "unknown"),
        ]
    )
    func wrong(text: String, hint: String) throws {
        do throws(ExperimentationError) {
            _ = try read(text)
            Issue.record("it was taken")
        } catch {
            #expect(error.code == .configuration)
            #expect(error.message.contains("evergage.json"))
            #expect(error.message.contains(hint))
        }
    }
}
