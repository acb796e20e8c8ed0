import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import FlagshipAdapter

/// An application's own cache, which can be slow.
final class OwnCache: FlagshipVisitorCache, FlagshipHitCache {
    struct State {
        var visitors: [String: Data] = [:]
        var hits: [String: FlagshipHitRecord] = [:]
        var calls: [String] = []
    }

    let state = Mutex(State())
    let time: ManualTime?

    /// With a time, look-ups take 300 milliseconds of it.
    init(slowBy time: ManualTime? = nil) { self.time = time }

    var calls: [String] { state.withLock { $0.calls } }
    var hits: [String: FlagshipHitRecord] { state.withLock { $0.hits } }
    var visitors: [String: Data] { state.withLock { $0.visitors } }
    /// The names of the cached screens, oldest first; sorted by name within one moment.
    var screens: [FlagValue] {
        hits.sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }.compactMap { $0.value.content["dl"] }
    }

    private func note(_ call: String, _ change: (inout State) -> Void) {
        state.withLock { state in
            state.calls.append(call)
            change(&state)
        }
    }

    func cacheVisitor(_ visitorID: String, _ record: Data) async {
        note("cacheVisitor \(visitorID)") { $0.visitors[visitorID] = record }
    }

    func lookupVisitor(_ visitorID: String) async -> Data? {
        note("lookupVisitor \(visitorID)") { _ in }
        try? await time?.sleep(for: .milliseconds(300))
        return visitors[visitorID]
    }

    func flushVisitor(_ visitorID: String) async {
        note("flushVisitor \(visitorID)") { $0.visitors[visitorID] = nil }
    }

    func cacheHits(_ hits: [String: FlagshipHitRecord]) async {
        note("cacheHits \(hits.count)") { $0.hits.merge(hits) { $1 } }
    }

    func lookupHits() async -> [String: FlagshipHitRecord] {
        note("lookupHits") { _ in }
        try? await time?.sleep(for: .milliseconds(300))
        return hits
    }

    func flushHits(_ ids: [String]) async {
        note("flushHits \(ids.count)") { state in for id in ids { state.hits[id] = nil } }
    }

    func flushAllHits() async { note("flushAllHits") { $0.hits = [:] } }
}

/// A cache that stores nothing, and deletes a visitor only once a gate opens.
struct SlowFlushing: FlagshipVisitorCache {
    let gate = AsyncGate()

    func cacheVisitor(_ visitorID: String, _ record: Data) async {}
    func lookupVisitor(_ visitorID: String) async -> Data? { nil }
    func flushVisitor(_ visitorID: String) async { await gate.wait() }
}

@Suite("Flagship: caches")
struct CacheTests {
    @Test("F74 a cached visitor's flags are available before the first fetch, and without the vendor")
    func cachedVisitor() async throws {
        let bench = try await Bench()
        let first = await bench.flagship()
        await first.newVisitor("ada", hasConsented: true).build().fetchFlags()
        await first.close()
        bench.transport.fail("campaigns", .error(.transport), times: 10)
        let heard = Heard<String>()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        #expect(heard.values == ["FETCH_REQUIRED/FETCHED_FROM_CACHE"])
        #expect(visitor.flag("cta").value(default: "none") == "new")
        #expect(visitor.flag("cta").metadata().variationGroupId == "grp-test")
        await visitor.fetchFlags()
        #expect(visitor.fetchReason == .fetchError)
        #expect(visitor.flag("cta").value(default: "none") == "new")
        try await flagship.client?.flush()
        #expect(await bench.mock.receivedActivations.map(\.group) == ["grp-test"])
    }

    @Test("F75 a look-up that exceeds its time limit counts as empty, and a late answer changes nothing")
    func slowLookup() async throws {
        let bench = try await Bench()
        let cache = OwnCache(slowBy: bench.time)
        let record = try JSON.parse(try Data(contentsOf: Self.fixture("cached-visitor.json")))
        await cache.cacheVisitor("amber-17", Data(try JSON.encode(record)))
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let builder = flagship.newVisitor("amber-17", hasConsented: true)
        let building = Task { await builder.build() }
        await bench.time.waitForSleepers(2)
        bench.time.advance(by: .milliseconds(250))
        let visitor = await building.value
        #expect(visitor.fetchReason == .visitorCreate)
        bench.time.advance(by: .seconds(1))
        for _ in 0..<100 { await Task.yield() }
        #expect(visitor.fetchReason == .visitorCreate && !visitor.flag("cta_text").exists())
    }

    @Test(
        "a look-up of hits that exceeds its time limit finds none, and its hits are there at the next start",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func slowHitLookup(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let bench = try await Bench()
        let cache = OwnCache(slowBy: bench.time)
        let content: [String: FlagValue] = [
            "t": "SCREENVIEW", "cid": .string(Bench.environmentID), "ds": "APP", "vid": "ada", "dl": "earlier", "qt": 0,
        ]
        let earlier = FlagshipHitRecord(
            visitorID: "ada",
            anonymousID: nil,
            type: "SCREENVIEW",
            time: bench.time.now,
            content: content
        )
        await cache.cacheHits(["earlier": earlier])
        let starting = Task {
            await bench.flagship {
                $0.caches = FlagshipCaches(hits: cache)
                $0.tracking.strategy = strategy
            }
        }
        await bench.time.waitForSleepers(2)
        bench.time.advance(by: .milliseconds(250))
        let flagship = await starting.value
        bench.time.advance(by: .seconds(1))
        await flagship.newVisitor("ada", hasConsented: true).build().sendHit(.screen("now"))
        try await flagship.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["now"])
        #expect(await bench.eventually { cache.hits == ["earlier": earlier] })
        await flagship.close()

        let quick = OwnCache()
        await quick.cacheHits(cache.hits)
        let next = await bench.flagship { $0.caches = FlagshipCaches(hits: quick) }
        _ = await next.newVisitor("ada", hasConsented: true).build()
        try await next.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["now", "earlier"])
    }

    @Test("F76 without consent the cache is neither read nor written, but flushed")
    func withoutConsent() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache) }
        let visitor = await flagship.newVisitor("dan", hasConsented: false).build()
        await visitor.fetchFlags()
        #expect(visitor.flag("cta").value(default: "none") == "new")
        #expect(cache.calls == ["flushVisitor dan"])
    }

    @Test("F77 an application's own caches get the vendor's records")
    func ownCaches() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(visitors: cache, hits: cache) }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).context(["plan": "pro"]).build()
        await visitor.fetchFlags()
        let written = try #require(cache.visitors["ada"])
        let record = try #require(try JSON.parse(written).objectValue)
        #expect(record["version"] == 1)
        let data = try #require(record["data"]?.objectValue)
        #expect(data["visitorId"] == "ada" && data["anonymousId"] == .null && data["consent"] == true)
        #expect(data["context"]?.objectValue?["plan"] == "pro")
        #expect(data["assignationHistory"] == ["grp-plain": "var-plain", "grp-test": "var-b"])
        let test = try #require(
            data["campaigns"]?.arrayValue?.compactMap(\.objectValue).first { $0["campaignId"] == "camp-test" }
        )
        #expect(
            test == [
                "campaignId": "camp-test", "campaignName": "Test", "variationGroupId": "grp-test",
                "variationGroupName": "Everybody", "variationId": "var-b", "variationName": "B", "isReference": false,
                "type": "ab", "slug": "the-test", "activated": false, "flags": ["cta": "new", "onlyA": nil],
            ]
        )
        bench.transport.fail("hits", .error(.transport), times: 10)
        await visitor.sendHit(.screen("home"))
        let hit = try #require(cache.hits.values.first { $0.type == "SCREENVIEW" })
        #expect(
            hit.json == [
                "version": 1,
                "data": [
                    "visitorId": "ada", "anonymousId": nil, "type": "SCREENVIEW",
                    "time": .double(bench.time.now.timeIntervalSince1970), "numberOfBytes": 89,
                    "content": [
                        "t": "SCREENVIEW", "cid": .string(Bench.environmentID), "ds": "APP", "vid": "ada", "dl": "home",
                        "qt": 0,
                    ],
                ],
            ]
        )
    }

    @Test(
        "F64 continuous: each hit is cached until it is sent; periodic: the cache holds the pool after each batch",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func strategies(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let flagship = await bench.flagship { options in
            options.caches = FlagshipCaches(hits: cache)
            options.tracking = .init(poolMaxSize: 2, batchInterval: .seconds(5), strategy: strategy)
        }
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        // The vendor accepts one batch, then none.
        bench.transport.fail("hits", .error(.transport), times: 50)
        let names: [FlagValue] = ["one", "two", "three", "four", "five"]
        var cached: [[FlagValue]] = []
        for name in names {
            bench.time.advance(by: .milliseconds(1))
            await visitor.sendHit(.screen(name.stringValue ?? ""))
            // With batching, the cache's content after the first hit shows that it isn't written one by one.
            if strategy == .continuousCaching || cached.isEmpty { cached.append(cache.screens) }
        }
        #expect(cached == (strategy == .continuousCaching ? names.indices.map { Array(names[...$0]) } : [[]]))
        #expect(try await flagship.client?.flush(retrying: false).isDone == false)
        #expect(await bench.eventually { cache.screens == names })
        bench.transport.heal()
        bench.transport.passThenFail("hits", passing: 1)
        bench.time.advance(by: .seconds(120))
        #expect(try await flagship.client?.flush(retrying: false).isDone == false)
        #expect(await bench.eventually { cache.screens == Array(names[2...]) })
        bench.transport.heal()
        bench.time.advance(by: .seconds(300))
        #expect(try await flagship.client?.flush(retrying: false).isDone == true)
        #expect(await bench.eventually { cache.hits.isEmpty })
        #expect(await bench.hits.compactMap { $0["dl"] } == names)
        #expect(cache.calls.contains("flushAllHits") == (strategy == .periodicCaching))
    }

    private func record(_ name: String, age: Double, _ bench: Bench, environmentID: String = Bench.environmentID)
        -> FlagshipHitRecord
    {
        FlagshipHitRecord(
            visitorID: "ada",
            anonymousID: nil,
            type: "SCREENVIEW",
            time: bench.time.now.addingTimeInterval(-age),
            content: [
                "t": "SCREENVIEW", "cid": .string(environmentID), "ds": "APP", "vid": "ada", "dl": .string(name),
                "qt": 0,
            ]
        )
    }

    @Test("F61 cached hits of less than four hours are sent at the next start, older ones are deleted")
    func restart() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        await cache.cacheHits([
            "1": record("young", age: 60, bench), "2": record("almost", age: 14_000, bench),
            "3": record("old", age: 14_400, bench),
        ])
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(hits: cache) }
        #expect(cache.screens == ["almost", "young"])
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["almost", "young"])
        #expect(await bench.hits.filter { $0["dl"] != nil }.map { $0["qt"] } == [14_000_000, 60_000])
        #expect(cache.hits.isEmpty)
    }

    @Test("F61 the client's own store keeps hits in the same way: the next run sends them unless they are too old")
    func restartWithoutCache() async throws {
        let bench = try await Bench()
        bench.transport.fail("hits", .error(.transport), times: 50)
        let first = await bench.flagship()
        let visitor = await first.newVisitor("ada", hasConsented: true).build()
        await visitor.sendHit(.screen("old"))
        bench.time.advance(by: .seconds(14_000))
        await visitor.sendHit(.screen("young"))
        await first.close()
        bench.transport.heal()
        bench.time.advance(by: .seconds(500))
        let second = await bench.flagship()
        _ = await second.newVisitor("ada", hasConsented: true).build()
        try await second.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["young"])
    }

    @Test(
        "with a store and a cache that both survive the process, a hit is sent once, after any number of starts",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func onlyOnce(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        bench.transport.fail("hits", .error(.transport), times: 50)
        for start in 0..<3 {
            let flagship = await bench.flagship { options in
                options.caches = FlagshipCaches(hits: cache)
                options.tracking.strategy = strategy
            }
            let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
            if start == 0 {
                await visitor.sendHit(.transaction(id: "o-1", affiliation: "shop", revenue: 20))
                let order = Order(id: "o-2", lines: [LineItem(item: CatalogItem(id: "sku", price: 5))])
                try await visitor.session?.track(.purchase(order))
            }
            #expect(try await flagship.client?.waitingEvents().count == 3)
            _ = try await flagship.client?.flush(retrying: false)
            await flagship.close()
        }
        bench.transport.heal()
        let last = await bench.flagship { options in
            options.caches = FlagshipCaches(hits: cache)
            options.tracking.strategy = strategy
        }
        _ = await last.newVisitor("ada", hasConsented: true).build()
        try await last.client?.flush()
        #expect(await bench.hits.map { $0["t"] } == ["EVENT", "TRANSACTION", "TRANSACTION", "ITEM"])
        #expect(await bench.eventually { cache.hits.isEmpty })
    }

    @Test(
        "hits cached for another environment stay in the cache",
        arguments: FlagshipOptions.Tracking.Strategy.allCases
    )
    func otherEnvironment(strategy: FlagshipOptions.Tracking.Strategy) async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let other = record("other", age: 60, bench, environmentID: "ckk9glocmjcg0vtmdlng")
        await cache.cacheHits(["1": record("own", age: 60, bench), "2": other])
        let flagship = await bench.flagship { options in
            options.caches = FlagshipCaches(hits: cache)
            options.tracking.strategy = strategy
        }
        _ = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        #expect(await bench.hits.compactMap { $0["dl"] } == ["own"])
        #expect(await bench.eventually { cache.hits == ["2": other] })
        let imported = try await Flagship.importHits(
            ["2": Data(try JSON.encode(other.json))],
            environmentID: Bench.environmentID,
            apiKey: "key",
            into: .inMemory(),
            now: bench.time.now
        )
        #expect(imported == 0)
    }

    static func fixture(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Conformance/Fixtures/Flagship/\(name)")
    }

    @Test("F66 the original's records become the hits that they stored, with its mistakes corrected")
    func originalHits() async throws {
        let bench = try await Bench()
        let records = try #require(try JSON.parse(try Data(contentsOf: Self.fixture("cached-hits.json"))).objectValue)
        let store = ClientStore.inMemory()
        let data = try records.mapValues { Data(try JSON.encode($0)) }
        let now = Date(timeIntervalSince1970: 1_900_000_010)
        bench.time.setNow(now)
        let imported = try await Flagship.importHits(
            data,
            environmentID: Bench.environmentID,
            apiKey: Secret(Bench.apiKey),
            into: store,
            now: now
        )
        #expect(imported == 7)
        let flagship = await bench.flagship(store: store)
        _ = await flagship.newVisitor("amber-17", hasConsented: true).build()
        try await flagship.client?.flush()
        // The last hit is the new visitor's consent.
        let hits = await bench.hits.dropLast()
        func hit(_ type: String) -> [String: FlagValue]? { hits.first { $0["t"] == .string(type) } }
        #expect(hits.count == 6)
        let transaction = try #require(hit("TRANSACTION"))
        #expect(
            transaction["tid"] == "o-9" && transaction["ta"] == "basket" && transaction["icn"] == 1
                && transaction["tt"] == 0
        )
        let item = try #require(hit("ITEM"))
        #expect(item["tid"] == "o-9" && item["in"] == "Mug" && item["ic"] == "sku-1" && item["iq"] == 1)
        #expect(hit("PAGEVIEW")?["dl"] == "https://a.example")
        #expect(hit("SCREENVIEW")?["vid"] == "8C0D-anon" && hit("SCREENVIEW")?["cuid"] == "amber-17")
        #expect(hit("SCREENVIEW")?["sr"] == "750 x 1334" && hit("SCREENVIEW")?["sn"] == 1)
        #expect(hits.contains { $0["ec"] == "User Engagement" && $0["ea"] == "fs_consent" && $0["el"] == "iOS:true" })
        #expect(
            await bench.mock.receivedActivations.map { [$0.visitor, $0.anonymous, $0.group, $0.variation] }
                == [["amber-17", "8C0D-anon", "grp-mango-1", "var-mango-b"]]
        )
    }

    @Test("the original's record of a visitor is imported, and its variations are kept by bucketing")
    func originalVisitor() async throws {
        let data = try Data(contentsOf: Self.fixture("cached-visitor.json"))
        let record = try FlagshipVisitorRecord(data)
        #expect(record.assignments == ["grp-mango-1": "var-mango-b", "grp-kiwi-1": "var-kiwi-a"])
        #expect(try JSON.parse(record.json) == JSON.parse(data))
        let sample = BucketingSample(
            groups: [("grp-kiwi-1", BucketingSample.everybody, [("var-kiwi-a", "0"), ("var-kiwi-b", "100")])]
        )
        let bench = try await Bench(sample.json)
        let flagship = await bench.flagship(.bucketing)
        try await flagship.importVisitor(data)
        let visitor = await flagship.newVisitor("amber-17", hasConsented: true).build()
        #expect(visitor.flag("cta_text").value(default: "none", visitorExposed: false) == "Go")
        await visitor.fetchFlags()
        #expect(visitor.flag("flag").value(default: "none") == "var-kiwi-a")
        let other = await flagship.newVisitor("somebody", hasConsented: true).build()
        await other.fetchFlags()
        #expect(other.flag("flag").value(default: "none") == "var-kiwi-b")
    }

    @Test("an import that is repeated replaces nothing that was stored since")
    func repeatedImport() async throws {
        let flagship = await (try await Bench()).flagship(.bucketing)
        let original = FlagshipVisitorRecord(visitorID: "ada", assignments: ["a": "a1", "b": "b1"])
        try await flagship.importVisitor(original.json)
        let newer = FlagshipVisitorRecord(
            visitorID: "ada",
            context: ["plan": "pro"],
            assignments: ["a": "a2", "c": "c2"]
        )
        await flagship.visitors.cacheVisitor("ada", newer.json)
        try await flagship.importVisitor(original.json)
        let stored = try FlagshipVisitorRecord(try #require(await flagship.visitors.lookupVisitor("ada")))
        #expect(stored.assignments == ["a": "a2", "b": "b1", "c": "c2"])
        #expect(stored.context == ["plan": "pro"])
    }

    @Test("an import stores nothing of a visitor who denies consent")
    func deniedImport() async throws {
        let flagship = await (try await Bench()).flagship()
        let original = FlagshipVisitorRecord(visitorID: "ada", assignments: ["a": "a1"])
        try await flagship.importVisitor(original.json)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.setConsent(false)
        try await flagship.importVisitor(original.json)
        #expect(await flagship.visitors.lookupVisitor("ada") == nil)
    }

    @Test("a fetch keeps the imported variations of groups that the visitor doesn't match at that moment")
    func unmatchedGroup() async throws {
        let pro = BucketingSample.targeting([[BucketingSample.rule("EQUALS", "plan", #""pro""#)]])
        let sample = BucketingSample(
            groups: [
                ("grp-pro", pro, [("pro-a", "0"), ("pro-b", "100")]),
                ("grp-all", BucketingSample.everybody, [("all-a", "0"), ("all-b", "100")]),
            ]
        )
        let bench = try await Bench(sample.json)
        let history = ["grp-pro": "pro-a", "grp-all": "all-a"]
        let first = await bench.flagship(.bucketing)
        try await first.importVisitor(FlagshipVisitorRecord(visitorID: "ada", assignments: history).json)
        let visitor = await first.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.flag("flag").value(default: "none") == "all-a")
        let stored = try #require(await first.visitors.lookupVisitor("ada"))
        #expect(try FlagshipVisitorRecord(stored).assignments == history)
        await first.close()

        let second = await bench.flagship(.bucketing)
        let later = await second.newVisitor("ada", hasConsented: true).context(["plan": "pro"]).build()
        await later.fetchFlags()
        #expect(later.flag("flag").value(default: "none") == "pro-a")
    }

    @Test(
        "an invalid record is an error",
        arguments: ["", "{}", "[]", #"{"data":{}}"#, #"{"data":{"visitorId":""}}"#]
    )
    func noRecord(text: String) {
        #expect(throws: ExperimentationError.self) { _ = try FlagshipVisitorRecord(Data(text.utf8)) }
    }
}
