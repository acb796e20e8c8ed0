import AdapterKit
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing

@testable import FlagshipAdapter

/// Defects of the original SDK that the adapter doesn't share, where no numbered case covers them.
@Suite("Flagship: defects of the original")
struct DefectTests {
    @Test("a second visitor doesn't send hits again that the first one has taken over from the cache")
    func cachedHitsGoOutOnce() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let content: [String: FlagValue] = [
            "t": "SCREENVIEW", "cid": .string(Bench.environmentID), "ds": "APP", "vid": "ada", "dl": "kept", "qt": 0,
        ]
        let record = FlagshipHitRecord(
            visitorID: "ada",
            anonymousID: nil,
            type: "SCREENVIEW",
            time: bench.time.now,
            content: content
        )
        await cache.cacheHits(["1": record])
        let flagship = await bench.flagship { $0.caches = FlagshipCaches(hits: cache) }
        for name in ["ada", "ben", "cleo"] { _ = await flagship.newVisitor(name, hasConsented: true).build() }
        try await flagship.client?.flush()
        #expect(await bench.hits.filter { $0["dl"] == "kept" }.count == 1)
    }

    @Test("a failed exposure is sent again without any other traffic")
    func exposuresDontWaitForHits() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        bench.transport.fail("activate", .status(500))
        _ = session.string("cta", default: "none")
        _ = try? await client.flush(retrying: false)
        for _ in 0..<200 where try await client.ledger().pending > 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await client.flush(retrying: false)
            await Task.yield()
        }
        #expect(await bench.mock.receivedActivations.count == 1)
        #expect(bench.transport.exchanges("hits").isEmpty)
    }

    @Test("while Flagship is initializing, a visitor without consent sends nothing")
    func consentWhileInitializing() async throws {
        let bench = try await Bench()
        bench.transport.fail("bucketing", .status(500), times: 100)
        let flagship = await bench.flagship(.bucketing)
        #expect(flagship.status == .initializing)
        let visitor = await flagship.newVisitor("dan", hasConsented: false).build()
        #expect(await visitor.sendHit(.screen("home")) == false)
        try await flagship.client?.flush()
        #expect(await bench.hits.map { $0["ea"] } == ["fs_consent"])
    }

    @Test(
        "an unreadable file changes neither its date nor the flags",
        arguments: [#"{"campaigns":["#, #"{"campaigns":7}"#, "<html></html>", ""]
    )
    func brokenFile(text: String) async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing)
        #expect(await bench.eventually { flagship.status == .initialized })
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        let good = await bench.mock.lastModified
        bench.transport.fail("bucketing", .dated(text, "Sat, 21 Nov 2026 10:00:00 GMT"))
        for _ in 2...3 { #expect(await bench.nextPoll()) }
        let dates = bench.transport.exchanges("bucketing").map { $0.request.header("if-modified-since") }
        #expect(dates == [nil, good, good])
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched && visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("unusual ids neither break the default cache nor reach another visitor's record")
    func oddIDsInTheCache() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "flagship-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await ClientStore.sqlite(at: folder.appending(path: "store.sqlite"))
        let bench = try await Bench()
        let flagship = await bench.flagship(store: store)
        let ids = [
            "o'hara", "\"; DROP TABLE state; --", "a%", "a_", "a", "a/", "👩‍👩‍👧", "line\nbreak", "\u{0}",
            String(repeating: "x", count: 4_096), String(repeating: "x", count: 4_095),
        ]
        for id in ids { await flagship.visitors.cacheVisitor(id, FlagshipVisitorRecord(visitorID: id).json) }
        for id in ids {
            let found = try #require(await flagship.visitors.lookupVisitor(id))
            #expect(try FlagshipVisitorRecord(found).visitorID == id)
        }
        for (index, id) in ids.enumerated() {
            await flagship.visitors.flushVisitor(id)
            for (other, id) in ids.enumerated() {
                #expect((await flagship.visitors.lookupVisitor(id) != nil) == (other > index))
            }
        }
        await flagship.close()
    }

    @Test("forgetting one visitor can't affect another whose key has the same prefix")
    func keysEnd() async throws {
        let state = KeyRecorder()
        await FlagshipStateCache(state: state, scope: "env", time: ManualTime()).flushVisitor("ada")
        let key = try #require(state.removed.first)
        #expect(key.hasSuffix("/") && key.dropLast().last != "/")
        #expect(!key.contains("ada"))
    }

    @Test(
        "a visitor and a consent stored under a key of the first releases are found, and are removed with a withdrawal"
    )
    func earlierKeys() async throws {
        let state = InMemoryStateStore()
        let key = FlagshipMurmur3.pair(of: "ada", in: Bench.environmentID)
        try await state.setValue([7], for: "flagship/visitor/\(key)/")
        try await state.setValue([1], for: "flagship/consent/\(key)")
        let (id, time) = (Bench.environmentID, ManualTime())
        let cache = FlagshipStateCache(state: state, scope: id, time: time)
        let notes = FlagshipConsentNotes(state: state, environmentID: id, time: time)
        #expect(await cache.lookupVisitor("ada") == Data([7]))
        #expect(await notes.isKnown("ada", at: ManualTime().now))
        await cache.cacheVisitor("ada", Data([8]))
        #expect(await cache.lookupVisitor("ada") == Data([8]))
        await cache.flushVisitor("ada")
        await notes.forget("ada")
        #expect(try await state.keys(beginningWith: "") == [])
    }

    @Test("a delivery has a limit on bytes")
    func batchesHaveALimit() async throws {
        let sink = try #require(try await Bench().roles().events)
        #expect(sink.batching.bytes == 2_500_000)
        #expect(sink.batching.maximumAge == .seconds(14_400))
    }

    @Test("a visitor may be used from many tasks concurrently")
    func concurrency() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<50 {
                        visitor.updateContext("key-\(index)", .int(round))
                        _ = visitor.flag("cta").value(default: "none")
                        _ = visitor.flags().toJson()
                        if round % 10 == 0 { visitor.authenticate("member-\(index)") }
                        if round % 25 == 0 { await visitor.fetchFlags() }
                    }
                }
            }
        }
        for index in 0..<8 { #expect(visitor.context()["key-\(index)"] == 49) }
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched)
        #expect(visitor.anonymousID == "ada")
    }
}

/// Records the prefixes of removed keys.
private final class KeyRecorder: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    private let state = Mutex<[String]>([])
    var removed: [String] { state.withLock { $0 } }

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        state.withLock { $0 += prefixes }
    }
}

@Suite("Flagship: configuration")
struct ConfigurationTests {
    static func read(_ json: String) throws -> FlagshipConfiguration {
        var reader = try SettingsReader(
            json: Array(json.utf8),
            file: "flagship.json",
            environment: ["KEY": "from-outside"]
        )
        let configuration = try FlagshipConfiguration(reading: &reader)
        try reader.finish()
        return configuration
    }

    @Test("a file with every setting is read")
    func everything() throws {
        let configuration = try Self.read(
            """
            {"environmentID":"env","apiKey":{"env":"KEY"},"mode":"bucketing","rules":"server",
             "endpoints":{"decision":"http://127.0.0.1:8081/v2/","cdn":"http://127.0.0.1:8082/","events":"http://127.0.0.1:8083/"},
             "timeout":1.5,"transferTimeout":20,"pollingInterval":0,"poolSize":20,"batchInterval":7,"maximumAge":60,
             "attempts":3,"device":{"language":"de","type":"TV","model":"M","osName":"tvOS","osVersion":"1"}}
            """
        )
        #expect(configuration.environmentID == "env" && configuration.apiKey.reveal() == "from-outside")
        #expect(configuration.mode == .bucketing && configuration.rules == .server)
        #expect(configuration.endpoints.decision.description == "http://127.0.0.1:8081/v2")
        #expect(configuration.endpoints.events.port == 8083)
        #expect(configuration.timeout == .seconds(1.5) && configuration.transferTimeout == .seconds(20))
        #expect(configuration.pollingInterval == .zero && configuration.batchInterval == .seconds(7))
        #expect(configuration.poolSize == 20 && configuration.maximumAge == .seconds(60))
        #expect(configuration.retry.attempts == 3)
        #expect(
            configuration.device
                == FlagshipDevice(language: "de", type: "TV", model: "M", osName: "tvOS", osVersion: "1")
        )
    }

    @Test("missing settings have the vendor's defaults")
    func defaults() throws {
        let configuration = try Self.read(#"{"environmentID":"env","apiKey":"key"}"#)
        #expect(configuration.endpoints.decision.description == "https://decision.flagship.io/v2")
        #expect(configuration.endpoints.cdn.host == "cdn.flagship.io")
        #expect(configuration.endpoints.events.host == "events.flagship.io")
        #expect(configuration.mode == .decisionAPI && configuration.timeout == .seconds(2))
        #expect(configuration.pollingInterval == .seconds(60) && configuration.poolSize == 10)
    }

    @Test(
        "each mistake names the file and the key, and no secret",
        arguments: [
            (#"{"apiKey":"key-of-mine"}"#, "environmentID"), (#"{"environmentID":"env"}"#, "apiKey"),
            (#"{"environmentID":"env","apiKey":"key-of-mine","mode":"both"}"#, "mode"),
            (
                #"{"environmentID":"env","apiKey":"key-of-mine","endpoints":{"cdn":"http://example.com/"}}"#,
                "endpoints.cdn"
            ),
            (#"{"environmentID":"env","apiKey":"key-of-mine","poolSize":0}"#, "poolSize"),
            (#"{"environmentID":"env","apiKey":"key-of-mine","timeout":-1}"#, "timeout"),
            (#"{"environmentID":"env","apiKey":"key-of-mine","colour":1}"#, "colour"),
        ]
    )
    func mistakes(json: String, key: String) {
        #expect { _ = try Self.read(json) } throws: { error in
            guard let error = error as? ExperimentationError else { return false }
            return error.code == .configuration && error.message.contains("flagship.json")
                && error.message.contains(key) && !error.message.contains("key-of-mine")
        }
    }

    @Test("invalid settings are rejected at the start", arguments: 0...5)
    func refused(index: Int) async throws {
        let bench = try await Bench()
        await #expect {
            _ = try await bench.client { configuration in
                switch index {
                case 0: configuration.environmentID = ""
                case 1: configuration.apiKey = ""
                case 2: configuration.timeout = .zero
                case 3: configuration.poolSize = 0
                case 4: configuration.pollingInterval = .seconds(-1)
                default: configuration.maximumAge = .seconds(-1)
                }
            }
        } throws: { error in (error as? ExperimentationError)?.code == .configuration }
    }
}
