import AdapterKit
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import Foundation
import MockVendors
import Testing

@Suite("Exposures and hits")
struct EventSinkTests {
    static let ada = User(id: "ada", consent: .granted)

    static func seen(_ bench: Bench, _ user: User = ada) async throws -> (ExperimentationClient, UserSession) {
        let client = try await bench.client()
        let session = client.session(for: user)
        try await session.refresh()
        return (client, session)
    }

    @Test("F46 an unknown flag reads as the default and exposes nothing")
    func unknownFlag() async throws {
        let bench = try await Bench()
        let (client, session) = try await Self.seen(bench)
        #expect(session.string("nobody", default: "none") == "none")
        try await client.flush()
        #expect(await bench.mock.receivedActivations.isEmpty)
        // The next flag causes an exposure, so the silence was specific to this one.
        #expect(session.string("cta", default: "none") == "new")
        try await client.flush()
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    @Test("F47 a value of another type reads as the default, with the full metadata, and exposes nothing")
    func wrongType() async throws {
        let bench = try await Bench()
        let (client, session) = try await Self.seen(bench)
        let details = session.details("cta", default: 5)
        #expect(details.value == 5)
        #expect(details.errorCode == .typeMismatch)
        #expect(details.metadata["campaignId"] == "camp-test")
        try await client.flush()
        #expect(await bench.mock.receivedActivations.isEmpty)
        // Read with its correct type, the same flag causes an exposure: the mismatch didn't count as one.
        #expect(session.details("cta", default: "none").value == "new")
        try await client.flush()
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    @Test(
        "F50 an exposure names variation group and variation, the visitor first and the anonymous id with it"
    )
    func exposureIDs() async throws {
        let bench = try await Bench()
        let (client, session) = try await Self.seen(
            bench,
            User(id: "ada", anonymousID: "anon", isAuthenticated: true, consent: .granted)
        )
        _ = session.string("cta", default: "none")
        try await client.flush()
        let exchange = try #require(bench.transport.exchanges("activate").first)
        #expect(exchange.request.path == "/v2/activate")
        #expect(
            exchange.json == [
                "cid": .string(Bench.environmentID),
                "batch": [
                    [
                        "cid": .string(Bench.environmentID), "vid": "ada", "aid": "anon", "caid": "grp-test",
                        "vaid": "var-b", "qt": 0,
                    ]
                ],
            ]
        )
        #expect(await bench.mock.receivedActivations.count == 1)
    }

    @Test("several reads of one variation are one exposure")
    func once() async throws {
        let bench = try await Bench()
        let (client, session) = try await Self.seen(bench)
        for _ in 0..<5 { _ = session.string("cta", default: "none") }
        try await client.flush()
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    static let order = Order(
        id: "o-9",
        lines: [
            LineItem(item: CatalogItem(id: "sku-1", name: "Mug", price: 12.5, categories: ["kitchen"]), quantity: 2),
            LineItem(item: CatalogItem(id: "sku-2")),
        ],
        total: 30.5,
        currency: "EUR",
        affiliation: "basket",
        shipping: 3.5,
        tax: 2,
        coupon: "SPRING",
        paymentMethod: "card",
        shippingMethod: "post"
    )

    static let wires: [(TrackingEvent, [[String: FlagValue]])] = [
        (.screenView("home"), [["t": "SCREENVIEW", "dl": "home"]]),
        (.pageView("https://a.example/"), [["t": "PAGEVIEW", "dl": "https://a.example/"]]),
        (
            .custom("spun", value: 3, attributes: ["label": "wheel"]),
            [["t": "EVENT", "ec": "Action Tracking", "ea": "spun", "el": "wheel", "ev": 3]]
        ),
        (.goalCompleted("signup"), [["t": "EVENT", "ec": "Action Tracking", "ea": "signup"]]),
        (
            .purchase(order),
            [
                [
                    "t": "TRANSACTION", "tid": "o-9", "ta": "basket", "tr": 30.5, "ts": 3.5, "tt": 2.0, "tc": "EUR",
                    "tcc": "SPRING", "pm": "card", "sm": "post", "icn": 3,
                ],
                ["t": "ITEM", "tid": "o-9", "in": "Mug", "ic": "sku-1", "ip": 12.5, "iq": 2, "iv": "kitchen"],
                ["t": "ITEM", "tid": "o-9", "in": "sku-2", "ic": "sku-2", "ip": 0.0, "iq": 1],
            ]
        ),
        (
            .screenView(
                "home",
                attributes: [
                    "userIp": "10.0.0.1", "screenResolution": "1x2", "screenColorDepth": "24-bit", "userLanguage": "fr",
                    "sessionNumber": 4, "location": "elsewhere",
                ]
            ),
            [
                [
                    "t": "SCREENVIEW", "dl": "home", "uip": "10.0.0.1", "sr": "1x2", "sd": "24-bit", "ul": "fr",
                    "sn": 4,
                ]
            ]
        ),
        (
            .goalCompleted("signup", attributes: ["location": "form"]),
            [["t": "EVENT", "ec": "Action Tracking", "ea": "signup", "dl": "form"]]
        ),
    ]

    @Test("F57 an event becomes its hit with exactly its keys", arguments: wires.indices)
    func wire(index: Int) async throws {
        let (event, expected) = Self.wires[index]
        let bench = try await Bench()
        let client = try await bench.client()
        try await client.session(for: Self.ada).track(event)
        try await client.flush()
        let common: [String: FlagValue] = [
            "cid": .string(Bench.environmentID), "ds": "APP", "vid": "ada", "qt": 0,
        ]
        let exchange = try #require(bench.transport.exchanges("hits").first)
        #expect(exchange.request.path == "/")
        #expect(
            exchange.json == [
                "t": "BATCH", "cid": .string(Bench.environmentID), "ds": "APP",
                "h": .array(expected.map { .object($0.merging(common) { $1 }) }),
            ]
        )
        #expect(exchange.status == 200)
    }

    @Test(
        "an event without a hit is rejected, and the ledger is unchanged",
        arguments: [
            TrackingEvent.viewItem(CatalogItem(id: "x")), .addToCart(LineItem(item: CatalogItem(id: "x"))), .installed,
            TrackingEvent(.native(NativeEvent(type: "sigma.something"))),
        ]
    )
    func unsupported(event: TrackingEvent) async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        await #expect { try await client.session(for: Self.ada).track(event) } throws: { error in
            (error as? ExperimentationError)?.code == .unsupported
        }
        #expect(try await client.ledger() == Ledger())
    }

    @Test("a value that the vendor can't count is rejected", arguments: [-1, 0.5, 1e300])
    func badValue(value: Double) async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        await #expect { try await client.session(for: Self.ada).track(.custom("x", value: value)) } throws: { error in
            (error as? ExperimentationError)?.code == .invalidArgument
        }
    }

    @Test("F58 ten hits are sent at once, and twenty-five in batches of up to ten")
    func batches() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        func sizes() -> [Int] { bench.transport.exchanges("hits").map { $0.json["h"]?.arrayValue?.count ?? 0 } }
        for index in 0..<10 { try await session.track(.screenView("s-\(index)")) }
        // Without a flush, and with time stopped.
        #expect(await bench.eventually { sizes() == [10] })
        #expect(await bench.hits.count == 10)
        for index in 10..<35 { try await session.track(.screenView("s-\(index)")) }
        try await client.flush()
        #expect(sizes().reduce(0, +) == 35)
        #expect(sizes().allSatisfy { $0 <= 10 })
        #expect(await bench.hits.map { $0["dl"] } == (0..<35).map { .string("s-\($0)") })
    }

    @Test("F60 after a failure the same hits are sent again, none lost and none doubled")
    func retries() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: Self.ada)
        bench.transport.fail("hits", .status(503), times: 2)
        for name in ["a", "b", "c"] { try await session.track(.screenView(name)) }
        _ = try? await client.flush(retrying: false)
        for _ in 0..<200 where try await client.ledger().pending > 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await client.flush(retrying: false)
            await Task.yield()
        }
        #expect(await bench.hits.map { $0["dl"] } == ["a", "b", "c"])
        let ledger = try await client.ledger()
        #expect(ledger.delivered == 3 && ledger.pending == 0 && ledger.isBalanced)
    }

    @Test("F62 a hit names the anonymous id as the visitor and the other as the customer, or only the visitor")
    func hitIDs() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let users = [Self.ada, User(id: "ada", anonymousID: "anon", isAuthenticated: true, consent: .granted)]
        for user in users { try await client.session(for: user).track(.screenView("home")) }
        try await client.flush()
        #expect(await bench.hits.map { [$0["vid"], $0["cuid"]] } == [["ada", nil], ["anon", "ada"]])
    }

    @Test("F63 the queue time is in milliseconds, grows while a hit waits, and is never negative")
    func queueTime() async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        let hits = [-2.25, 60].map { offset in
            Envelope(
                id: "\(offset)",
                identity: Identity(id: "a"),
                event: .screenView("x"),
                date: bench.time.now.addingTimeInterval(offset)
            )
        }
        _ = await sink.deliver(hits)
        bench.time.advance(by: .milliseconds(500))
        _ = await sink.deliver(hits)
        let times = await bench.hits.map { $0["qt"] }
        #expect(times == [2_250, 0, 2_750, 0])
    }

    @Test(
        "a visitor with one id has no anonymous one",
        arguments: [("ada", ""), ("", "ada"), ("ada", "ada")].map { Identity(id: $0, anonymousID: $1) }
    )
    func emptyID(identity: Identity) async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        let assignment = Assignment(experiment: Experiment(id: "c"), group: "g", variation: Variation(id: "v"))
        let events: [TrackingEvent] = [.screenView("home"), TrackingEvent(.exposure(Exposure(assignment: assignment)))]
        let envelopes = events.enumerated().map { index, event in
            Envelope(id: "\(index)", identity: identity, event: event, date: bench.time.now)
        }
        _ = await sink.deliver(envelopes)
        #expect(await bench.hits.map { [$0["vid"], $0["cuid"]] } == [["ada", nil]])
        let entries = bench.transport.exchanges("activate").first?.json["batch"]?.arrayValue?.compactMap(\.objectValue)
        #expect(entries?.map { [$0["vid"], $0["aid"]] } == [["ada", nil]])
    }

    @Test("a rejected batch is halved until the faulty hit is alone")
    func split() async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        let envelopes = ["a", "b"].map {
            Envelope(id: $0, identity: Identity(id: "ada"), event: .screenView($0), date: bench.time.now)
        }
        bench.transport.fail("hits", .status(400))
        let split = Verdict.split("Flagship refused the batch (400)")
        #expect(await sink.deliver(envelopes).verdicts == .each([split, split]))
        bench.transport.fail("hits", .status(400))
        let failed = Verdict.failed("Flagship refused the event (400)")
        #expect(await sink.deliver([envelopes[0]]).verdicts == .each([failed]))
    }

    @Test(
        "only a 2xx status is delivery, and a captive portal's page isn't",
        arguments: [
            (VendorTransport.Failure.status(204), nil), (.status(302), .answered(302)), (.status(500), .answered(500)),
            (.body("<!DOCTYPE html><html></html>"), .foreign), (.error(.transport), .unreachable),
            (.body("<!-- login --><HTML>"), .foreign), (.body("anything"), nil),
        ] as [(VendorTransport.Failure, OutageReason?)]
    )
    func deliveries(failure: VendorTransport.Failure, reason: OutageReason?) async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        bench.transport.fail("hits", failure)
        let envelope = Envelope(id: "1", identity: Identity(id: "a"), event: .screenView("x"), date: bench.time.now)
        #expect(await sink.deliver([envelope]).verdicts == .each([reason.map { .outage(because: $0) } ?? .delivered]))
    }
}
