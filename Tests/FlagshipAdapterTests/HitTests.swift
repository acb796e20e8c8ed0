import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: typed hits and the log")
struct HitTests {
    @Test(
        "a level lets through messages of equal or higher importance, in Flagship's order",
        arguments: [
            (FlagshipLogLevel.none, []), (.exceptions, []), (.error, [LogLevel.error]), (.warning, [.error, .warning]),
            (.debug, [.error, .warning, .debug]), (.info, [.error, .warning, .debug, .info]),
            (.all, [.error, .warning, .debug, .info, .trace]),
        ]
    )
    func logLevels(level: FlagshipLogLevel, wanted: [LogLevel]) {
        let recorder = RecordingLog()
        let log = FlagshipLevelledLog(sink: recorder, wanted: level)
        for level in [LogLevel.error, .warning, .debug, .info, .trace] { log.log(level, "x", "y") }
        #expect(recorder.entries.map(\.level) == wanted)
    }

    @Test("typed hits are sent with their own and the common keys")
    func typedHits() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let common = FlagshipHit.Common(
            userIP: "168.192.1.0",
            screenResolution: "750 x 1334",
            screenColorDepth: "#fd0027",
            userLanguage: "fr",
            sessionNumber: 1,
            currentSessionTimestamp: 1_615_384_464,
            sessionEventNumber: 2
        )
        await visitor.sendHit(.screen("loginScreen", common: common))
        await visitor.sendHit(.page("https://a.example"))
        await visitor.sendHit(.transaction(id: "t", affiliation: "", revenue: 15, itemCount: 0))
        await visitor.sendHit(.item(transactionID: "t", name: "n", code: "c"))
        await visitor.sendHit(
            .transaction(
                id: "transacId",
                affiliation: "BasketTransac",
                revenue: 15,
                shipping: 3.5,
                tax: 2.6,
                currency: "EUR",
                paymentMethod: "PayPal",
                shippingMethod: "Fedex",
                itemCount: 2,
                couponCode: "X"
            )
        )
        await visitor.sendHit(
            .item(transactionID: "transacId", name: "itemName", code: "sku", price: 20, quantity: 2, category: "shoes")
        )
        await visitor.sendHit(.event(.actionTracking, action: "cta_Shop", label: "l", value: 1))
        #expect(await visitor.sendHit(.transaction(id: "t", affiliation: "a", revenue: .nan)) == false)
        try await flagship.client?.flush()
        let hits = await bench.hits.dropFirst().map { hit in
            hit.filter { !["cid", "ds", "vid", "qt"].contains($0.key) }
        }
        #expect(
            hits == [
                [
                    "t": "SCREENVIEW", "dl": "loginScreen", "uip": "168.192.1.0", "sr": "750 x 1334", "sd": "#fd0027",
                    "ul": "fr", "sn": 1,
                ],
                ["t": "PAGEVIEW", "dl": "https://a.example"],
                ["t": "TRANSACTION", "tid": "t", "ta": "", "tr": 15, "icn": 0],
                ["t": "ITEM", "tid": "t", "in": "n", "ic": "c", "ip": 0, "iq": 0],
                [
                    "t": "TRANSACTION", "tid": "transacId", "ta": "BasketTransac", "tr": 15, "ts": 3.5, "tt": 2.6,
                    "tc": "EUR", "pm": "PayPal", "sm": "Fedex", "icn": 2, "tcc": "X",
                ],
                ["t": "ITEM", "tid": "transacId", "in": "itemName", "ic": "sku", "ip": 20, "iq": 2, "iv": "shoes"],
                ["t": "EVENT", "ec": "Action Tracking", "ea": "cta_Shop", "el": "l", "ev": 1],
            ]
        )
    }

    /// Each type of hit with empty texts, and its members as they are sent.
    static let emptyHits: [(FlagshipHit, [String: FlagValue])] = [
        (.screen(""), ["t": "SCREENVIEW", "dl": ""]), (.page(""), ["t": "PAGEVIEW", "dl": ""]),
        (.transaction(id: "", affiliation: ""), ["t": "TRANSACTION", "tid": "", "ta": ""]),
        (
            .item(transactionID: "", name: "", code: "", category: ""),
            ["t": "ITEM", "tid": "", "in": "", "ic": "", "ip": 0, "iq": 0, "iv": ""]
        ),
        (.event(.userEngagement, action: "", label: ""), ["t": "EVENT", "ec": "User Engagement", "ea": "", "el": ""]),
    ]

    @Test("empty texts are sent, as in the original", arguments: emptyHits.indices)
    func emptyTexts(index: Int) async throws {
        let (hit, sent) = Self.emptyHits[index]
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        #expect(await visitor.sendHit(hit))
        try await flagship.client?.flush()
        #expect(await bench.hits.last?.filter { !["cid", "ds", "vid", "qt"].contains($0.key) } == sent)
    }

    @Test("a cached hit with an empty text is sent, and a record that isn't a hit is deleted and logged")
    func cachedEmptyText() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        func record(_ content: [String: FlagValue]) -> FlagshipHitRecord {
            FlagshipHitRecord(
                visitorID: "ada",
                anonymousID: nil,
                type: "ITEM",
                time: bench.time.now,
                content: content.merging(["cid": .string(Bench.environmentID), "vid": "ada"]) { $1 }
            )
        }
        let item: [String: FlagValue] = ["t": "ITEM", "tid": "o", "in": "Mug", "ic": "", "ip": 5, "iq": 1]
        await cache.cacheHits(["1": record(item), "2": record(["t": "ITEM", "tid": "o"])])
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(hits: cache) }
        #expect(Array(cache.hits.keys) == ["1"])
        #expect(bench.log.entries.count { $0.event == "flagship.CACHE" && $0.level == .warning } == 1)
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        #expect(await bench.hits.map { [$0["in"], $0["ic"]] } == [["Mug", ""], [nil, nil]])
    }

    @Test("F59 a single hit is sent when its interval is over")
    func interval() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship { $0.tracking.batchInterval = .seconds(20) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        await visitor.sendHit(.screen("home"))
        await bench.time.waitForSleepers(1)
        let before = await bench.hits.count
        #expect(before == 1)
        bench.time.advance(by: .seconds(21))
        #expect(await bench.eventually { await bench.hits.count == 2 })
    }
}
