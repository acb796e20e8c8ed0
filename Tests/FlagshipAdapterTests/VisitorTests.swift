import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: flags and exposures")
struct FlagTests {
    static func fetched(
        _ bench: Bench,
        _ change: (inout FlagshipOptions) -> Void = { _ in }
    ) async -> (Flagship, FlagshipVisitor) {
        let flagship = await bench.flagship(.decisionAPI, change)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).context(["city": "lyon"]).build()
        await visitor.fetchFlags()
        return (flagship, visitor)
    }

    static func activations(_ bench: Bench, _ flagship: Flagship) async throws -> [String] {
        try await flagship.client?.flush()
        return await bench.mock.receivedActivations.map(\.variation)
    }

    @Test("F48 without a default the value comes as the type that is asked for, or not at all")
    func withoutDefault() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        #expect(visitor.flag("size").value(as: Int.self) == 7)
        #expect(visitor.flag("size").value(as: String.self) == nil)
        #expect(visitor.flag("nobody").value(as: Int.self) == nil)
        #expect(try await Self.activations(bench, flagship) == ["var-plain"])
    }

    @Test("F49 a value can be read without an exposure, which is reported later once")
    func laterExposure() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        #expect(visitor.flag("cta").value(default: "none", visitorExposed: false) == "new")
        #expect(try await Self.activations(bench, flagship) == [])
        visitor.flag("cta").visitorExposed()
        visitor.flag("cta").visitorExposed()
        visitor.flag("nobody").visitorExposed()
        #expect(try await Self.activations(bench, flagship) == ["var-b"])
    }

    @Test("a policy brings back the original's habit of one exposure for every read")
    func everyRead() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench) { $0.exposurePolicy = .everyRead }
        for _ in 0..<3 { _ = visitor.flag("cta").value(default: "none") }
        #expect(try await Self.activations(bench, flagship) == ["var-b", "var-b", "var-b"])
    }

    @Test("F51 exposing all of three variations makes three exposures")
    func exposeAll() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        visitor.flags().filter { key, _ in ["cta", "size", "color"].contains(key) }.exposeAll()
        #expect(try await Self.activations(bench, flagship) == ["var-lyon", "var-b", "var-plain"])
    }

    @Test("F52 the callback isn't called for a failed exposure, and later for all that the vendor has taken")
    func exposureCallback() async throws {
        let bench = try await Bench()
        let heard = Heard<(FlagshipExposedVisitor, FlagshipExposedFlag)>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add(($0, $1)) } }
        let client = try #require(flagship.client)
        bench.transport.fail("activate", .status(500))
        _ = visitor.flag("cta").value(default: "none")
        _ = try? await client.flush(within: .zero)
        #expect(await bench.eventually { bench.transport.exchanges("activate").count == 1 })
        #expect(heard.values.isEmpty)
        _ = visitor.flag("size").value(default: 0)
        for _ in 0..<200 where try await client.ledger().pending > 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await client.flush(within: .zero)
            await Task.yield()
        }
        #expect(heard.values.map(\.1.key).sorted() == ["cta", "size"])
        let cta = try #require(heard.values.first { $0.1.key == "cta" })
        #expect(cta.0.id == "ada" && cta.0.context["city"] == "lyon")
        #expect(
            cta.1.toDictionary() == [
                "key": "cta", "value": "new", "defaultValue": "none",
                "metadata": [
                    "campaignId": "camp-test", "campaignName": "Test", "variationGroupId": "grp-test",
                    "variationGroupName": "Everybody", "variationId": "var-b", "variationName": "B",
                    "isReference": false, "campaignType": "ab", "slug": "the-test",
                ],
            ]
        )
        // The two forms say the same.
        #expect(try JSON.parse(try #require(cta.1.toJson())) == .object(cta.1.toDictionary()))
        #expect(try JSON.parse(try #require(cta.0.toJson())) == .object(cta.0.toDictionary()))
        #expect(cta.0.toDictionary()["anonymousId"] == nil)
    }

    @Test("what is exposed as the reference is told as the reference")
    func referenceIsTold() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        _ = visitor.flag("color").value(default: "none")
        #expect(try await Self.activations(bench, flagship) == ["var-lyon"])
        #expect(heard.values.map(\.metadata.isReference) == [true])
    }

    @Test(
        "F53 a flag's status for every fetch status",
        arguments: [
            (FlagshipFetchStatus.fetched, FlagshipFlagStatus.fetched, FlagshipFlagStatus.notFound),
            (.fetching, .fetchRequired, .notFound), (.fetchRequired, .fetchRequired, .notFound),
            (.panic, .panic, .panic),
        ]
    )
    func flagStatus(fetch: FlagshipFetchStatus, known: FlagshipFlagStatus, unknown: FlagshipFlagStatus) {
        #expect(FlagshipFlagStatus(fetchStatus: fetch, isKnown: true) == known)
        #expect(FlagshipFlagStatus(fetchStatus: fetch, isKnown: false) == unknown)
    }

    @Test("a flag's status is worked out when it is asked")
    func liveStatus() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let flag = visitor.flag("cta")
        #expect(flag.status == .notFound && !flag.exists())
        await visitor.fetchFlags()
        #expect(flag.status == .fetched && flag.exists())
        visitor.updateContext("age", 41)
        #expect(flag.status == .fetchRequired)
    }

    @Test("F54 the collection's JSON holds each value as hexadecimal bytes that read back")
    func collectionJSON() async throws {
        let bench = try await Bench()
        let (_, visitor) = await Self.fetched(bench)
        let list = try #require(try JSON.parse(visitor.flags().toJson()).arrayValue?.compactMap(\.objectValue))
        #expect(list.count == visitor.flags().count)
        for entry in list {
            let key = try #require(entry["key"]?.stringValue)
            let hex = Array(try #require(entry["hex"]?.stringValue))
            let bytes = stride(from: 0, to: hex.count, by: 2).compactMap {
                UInt8(String(hex[$0...($0 + 1)]), radix: 16)
            }
            #expect(try JSON.parse(bytes) == ["v": visitor.decisions[key]?.value ?? .null])
            #expect(entry["variationGroupId"] == .string(visitor.flag(key).metadata().variationGroupId))
        }
        let on = try #require(list.first { $0["key"] == "on" })
        #expect(on["hex"] == "7b2276223a747275657d")
    }

    @Test("F55 metadata have all members, and empty ones for a flag that nobody knows")
    func metadata() async throws {
        let bench = try await Bench()
        let (_, visitor) = await Self.fetched(bench)
        let metadata = visitor.flag("cta").metadata()
        #expect(metadata.campaignName == "Test" && metadata.slug == "the-test" && !metadata.isReference)
        _ = visitor.flag("cta").value(default: 5)
        #expect(visitor.flag("cta").metadata() == metadata)
        #expect(visitor.flag("nobody").metadata() == FlagshipFlagMetadata())
        #expect(
            FlagshipFlagMetadata().toJson()
                == #"{"campaignId":"","campaignName":"","campaignType":"","isReference":false,"slug":"","variationGroupId":"","variationGroupName":"","variationId":"","variationName":""}"#
        )
    }

    @Test("F56 a whole number is read as an Int and as a Double, a fraction as a Double alone")
    func wholeNumbers() async throws {
        let bench = try await Bench()
        let (_, visitor) = await Self.fetched(bench)
        #expect(visitor.flag("size").value(default: 0) == 7)
        #expect(visitor.flag("size").value(default: 0.0) == 7.0)
        #expect(visitor.flag("whole").value(default: 0) == 3)
        #expect(visitor.flag("whole").value(default: 0.0) == 3.0)
        #expect(visitor.flag("ratio").value(default: 0.0) == 0.5)
        #expect(visitor.flag("ratio").value(default: 4) == 4)
        #expect(visitor.flag("on").value(default: 4) == 4)
        #expect(visitor.flag("theme").value(default: [String: FlagValue]()) == ["dark": false])
        #expect(visitor.flag("list").value(default: [FlagValue]()) == [1, 2])
    }

    @Test("the collection: subscript for reading and setting, keys, filter, iteration, count, metadata")
    func collection() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        var flags = visitor.flags()
        #expect(flags.keys() == ["color", "cta", "list", "on", "onlyA", "ratio", "size", "theme", "whole"])
        #expect(flags.count == 9 && !flags.isEmpty && flags.metadatas().count == 9)
        #expect(flags["nobody"].value(default: "none") == "none")
        #expect(flags["nobody"].status == .notFound)
        flags["nobody"].visitorExposed()
        flags["copy"] = flags["cta"]
        #expect(flags.count == 10 && flags["copy"].value(default: "none", visitorExposed: false) == "new")
        let reference = flags.filter { $1.metadata().variationName == "L" }
        #expect(reference.keys() == ["color"])
        #expect(flags.map(\.key) == flags.keys())
        #expect(try await Self.activations(bench, flagship) == [])
        await bench.mock.setPanic(true)
        await visitor.fetchFlags()
        #expect(visitor.flags().isEmpty && visitor.flags().toJson() == "")
    }
}

@Suite("Flagship: visitors")
struct VisitorTests {
    @Test("F44 a bucketing fetch tells the context in one hit of texts, once for each context, and not without consent")
    func segment() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing)
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .context(["age": 41, "vip": true, "ratio": 2.0, "city": "lyon"]).build()
        for _ in 0..<2 { await visitor.fetchFlags() }
        let denied = await flagship.newVisitor("dan", hasConsented: false).build()
        await denied.fetchFlags()
        try await flagship.client?.flush()
        let segments = await bench.hits.filter { $0["t"] == "SEGMENT" }
        #expect(segments.count == 1)
        let context = try #require(segments.first?["s"]?.objectValue)
        #expect(context["age"] == "41" && context["vip"] == "true" && context["ratio"] == "2.0")
        #expect(context["city"] == "lyon" && context["sdk_osName"] == "iOS" && context["fs_users"] == "ada")
        visitor.updateContext("age", 42)
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        #expect(await bench.hits.filter { $0["t"] == "SEGMENT" }.count == 2)
    }

    @Test("F45 in bucketing mode signing in changes neither ids nor status")
    func bucketingIdentity() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        visitor.authenticate("member")
        visitor.unauthenticate()
        #expect(visitor.visitorID == "ada" && visitor.anonymousID == nil)
        #expect(visitor.fetchStatus == .fetched)
        #expect(bench.log.entries.contains { $0.event == "flagship.AUTHENTICATE" && $0.level == .warning })
    }

    @Test("F67 a new visitor tells of its consent once, and again only when it changes", arguments: [true, false])
    func consentHit(hasConsented: Bool) async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        _ = await flagship.newVisitor("ada", hasConsented: hasConsented).build()
        try await flagship.client?.flush()
        let hits = await bench.hits
        #expect(hits.map { $0["el"] } == [.string("iOS:\(hasConsented)")])
        #expect(hits.first?["ec"] == "User Engagement" && hits.first?["ea"] == "fs_consent")
        if hasConsented {
            _ = await flagship.newVisitor("ada", hasConsented: true).build()
            try await flagship.client?.flush()
            #expect(await bench.hits.count == 1)
        }
    }

    @Test("F68 consent withdrawn: the consent is told, what waits and what is cached is gone, nothing else is sent")
    func consentWithdrawn() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        #expect(await flagship.visitors.lookupVisitor("ada") != nil)
        bench.transport.fail("hits", .error(.transport), times: 50)
        bench.transport.fail("activate", .error(.transport), times: 50)
        await visitor.sendHit(.screen("home"))
        _ = visitor.flag("cta").value(default: "none")
        _ = try? await flagship.client?.flush(within: .zero)
        await visitor.setConsent(false)
        #expect(await visitor.sendHit(.screen("later")) == false)
        #expect(visitor.flag("size").value(default: 0) == 7)
        bench.transport.heal()
        for _ in 0..<200 where try await flagship.client?.ledger().pending != 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await flagship.client?.flush(within: .zero)
            await Task.yield()
        }
        #expect(await bench.hits.map { $0["el"] } == ["iOS:true", "iOS:false"])
        #expect(await bench.mock.receivedActivations.isEmpty)
        #expect(await flagship.visitors.lookupVisitor("ada") == nil)
        #expect(visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("F69 consent given again: hits flow again")
    func consentAgain() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: false).build()
        #expect(await visitor.sendHit(.screen("no")) == false)
        await visitor.setConsent(true)
        #expect(await visitor.sendHit(.screen("yes")))
        try await flagship.client?.flush()
        #expect(await bench.hits.map { $0["el"] ?? $0["dl"] } == ["iOS:false", "iOS:true", "yes"])
    }

    @Test("F70 signing in and out: every row of the table")
    func identities() {
        func new(_ isAuthenticated: Bool) -> FlagshipIdentity {
            FlagshipIdentity(
                visitorID: "given",
                isAuthenticated: isAuthenticated,
                makeID: { "made" },
                deviceID: { "device" }
            )
        }
        func ids(_ identity: FlagshipIdentity) -> [String?] { [identity.visitorID, identity.anonymousID] }
        var visitor = new(false)
        #expect(ids(visitor) == ["given", nil])
        let isChanged = visitor.unauthenticate()
        #expect(!isChanged)
        #expect(ids(visitor) == ["given", nil])
        var changes = [visitor.authenticate("x")]
        #expect(ids(visitor) == ["x", "given"])
        #expect(visitor.isAuthenticated)
        changes.append(visitor.authenticate("y"))
        #expect(ids(visitor) == ["y", "given"])
        changes.append(visitor.authenticate("y"))
        changes.append(visitor.authenticate(""))
        changes.append(visitor.unauthenticate())
        #expect(ids(visitor) == ["given", nil])
        #expect(!visitor.isAuthenticated)
        #expect(changes == [true, true, false, false, true])
        #expect(ids(new(true)) == ["given", "device"])
    }

    @Test("F71 the context's visitor follows the visitor's id, on the wire too")
    func usersKey() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        await visitor.fetchFlags()
        visitor.authenticate("ada")
        #expect(visitor.context()["fs_users"] == "ada")
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .authenticate)
        await visitor.fetchFlags()
        let body = try #require(bench.transport.exchanges("campaigns").last).json
        #expect(body["visitor_id"] == "ada" && body["anonymousId"] == "anon")
        #expect(body["context"]?.objectValue?["fs_users"] == "ada")
        visitor.unauthenticate()
        #expect(visitor.context()["fs_users"] == "anon" && visitor.fetchReason == .unauthenticate)
    }

    @Test("F72 values that Flagship has no type for are left out, and the others apply; at creation too")
    func contextTypes() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .context(["list": [1], "nan": .double(.nan), "good": 1]).build()
        #expect(visitor.context()["list"] == nil && visitor.context()["nan"] == nil && visitor.context()["good"] == 1)
        visitor.updateContext(["object": ["a": 1], "nothing": nil, "age": 41, "ratio": 0.5, "vip": true, "name": "Ada"])
        let context = visitor.context()
        #expect(context["object"] == nil && context["nothing"] == nil)
        #expect([context["age"], context["ratio"], context["vip"], context["name"]] == [41, 0.5, true, "Ada"])
        #expect(bench.log.entries.filter { $0.event == "flagship.UPDATE_CONTEXT" && $0.level == .error }.count == 4)
    }

    @Test("F73 the fetch status is told in order and once: create, fetch, update, failure, panic")
    func fetchStatusSequence() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .visitorCreate)
        await visitor.fetchFlags()
        visitor.updateContext("age", 41)
        visitor.updateContext("age", 41)
        visitor.updateContext(["list": [1]])
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        await bench.mock.setPanic(true)
        await visitor.fetchFlags()
        visitor.updateContext("age", 43)
        visitor.authenticate("member")
        #expect(visitor.visitorID == "ada")
        #expect(
            heard.values == [
                "FETCHING/NONE", "FETCHED/NONE", "FETCH_REQUIRED/UPDATE_CONTEXT", "FETCHING/NONE",
                "FETCH_REQUIRED/FETCH_ERROR", "FETCHING/NONE", "PANIC/NONE",
            ]
        )
        #expect(visitor.context()["age"] == 41)
    }

    @Test("what changes while an answer is on its way still has to be fetched")
    func changeDuringFetch() {
        var machine = FlagshipFetchMachine()
        _ = machine.take(.fetchStarted)
        let heard = [
            FlagshipFetchMachine.Event.contextChanged, .fetchSucceeded, .fetchStarted, .fetchSucceeded, .fetchSucceeded,
        ].map { event in
            machine.take(event).map { "\($0.status)/\($0.reason)" }
        }
        #expect(heard == ["fetchRequired/updateContext", nil, "fetching/none", "fetched/none", nil])
    }

    @Test("F78 without an id a visitor gets one of 36 characters, in capitals, and another each time")
    func madeID() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let one = await flagship.newVisitor("", hasConsented: true).build()
        let two = await flagship.newVisitor("", hasConsented: true).build()
        #expect(one.visitorID.count == 36 && one.visitorID == one.visitorID.uppercased())
        #expect(one.visitorID != two.visitorID)
    }

    @Test("F79 signed in from the beginning, the anonymous id is the same in every run of an installation")
    func deviceID() async throws {
        let bench = try await Bench()
        var ids: [String?] = []
        for name in ["ada", "ben"] {
            let flagship = await bench.flagship()
            ids.append(await flagship.newVisitor(name, hasConsented: true).authenticated(true).build().anonymousID)
            await flagship.close()
        }
        #expect(ids[0] == ids[1])
        #expect(ids[0]?.count == 36)
    }

    @Test("F80 not started: a fetch ends, flags are required for no reason, and nothing is sent")
    func notStarted() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(environmentID: "wrong")
        let heard = Heard<String>()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        await visitor.fetchFlags()
        #expect(heard.values == ["FETCH_REQUIRED/NONE"])
        #expect(await visitor.sendHit(.screen("home")) == false)
        await visitor.setConsent(false)
        visitor.updateContext("age", 41)
        #expect(visitor.context()["age"] == nil)
        #expect(visitor.flag("cta").value(default: "none") == "none" && !visitor.flag("cta").exists())
        #expect(visitor.flags().isEmpty)
        #expect(bench.transport.exchanges.isEmpty)
    }

    @Test("a fetch calls back once on the main actor, whatever came of it")
    func callback() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await withCheckedContinuation { continuation in visitor.fetchFlags { continuation.resume() } }
        #expect(visitor.fetchStatus == .fetched)
    }

    @Test("shared and new instances")
    func instances() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        #expect(flagship.sharedVisitor == nil)
        let shared = await flagship.newVisitor("ada", hasConsented: true).build()
        _ = await flagship.newVisitor("ben", hasConsented: true, instance: .new).build()
        #expect(flagship.sharedVisitor === shared)
    }

    @Test("F65 closing delivers what waits, of every visitor")
    func close() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        for name in ["ada", "ben"] {
            let visitor = await flagship.newVisitor(name, hasConsented: true).build()
            for index in 0..<8 { await visitor.sendHit(.screen("\(name)-\(index)")) }
        }
        await flagship.close()
        #expect(await bench.hits.count == 18)
        #expect(await bench.hits.compactMap { $0["vid"]?.stringValue }.filter { $0 == "ben" }.count == 9)
    }

    @Test(
        "the automatic keys are there on every platform, the application's word counts more, and clearing takes all away"
    )
    func automaticKeys() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship { $0.device = .current }
        let first = await flagship.newVisitor("ada", hasConsented: true).build()
        let second = await flagship.newVisitor("ada", hasConsented: true).context(["sdk_osName": "Amiga"]).build()
        for key in FlagshipContextKey.allCases where key.isAutomatic {
            let value = try #require(first.context()[key.rawValue], "\(key)")
            #expect(key.objection(to: value) == nil)
            #expect(value != "")
        }
        #expect(first.context()["sdk_firstTimeInit"] == true)
        #expect(second.context()["sdk_firstTimeInit"] == false)
        #expect(second.context()["sdk_osName"] == "Amiga")
        #expect(first.context()["OS_VERSION_CODE"] == nil)
        second.clearContext()
        #expect(second.context() == [:])
        #expect(second.fetchReason == .visitorCreate)
        await second.fetchFlags()
        #expect(second.flag("cta").value(default: "none") == "new")
    }

    static let predefined: [(FlagshipContextKey, good: FlagValue, bad: FlagValue)] = [
        (.firstTimeInit, true, "true"), (.locale, "fr", 1), (.deviceType, "Tablet", 1), (.deviceModel, "X", true),
        (.locationCity, "toulouse", 1), (.locationRegion, "occitanie", 1), (.locationCountry, "France", 1),
        (.locationLatitude, 43.6, "43.6"), (.locationLongitude, 1.4, 181), (.ip, "10.0.0.1", "10.0.0.256"),
        (.ip, "2001:db8::1", "2001:db8"), (.ip, "::ffff:10.0.0.1", "1::2::3"), (.osName, "iOS", 1),
        (.osVersionName, "iOS", 1), (.osVersionCode, "18.0", 18), (.carrierName, "SFR", 1), (.devMode, true, 1),
        (.internetConnection, "3g", 1), (.appVersionName, "1.1", 1), (.appVersionCode, 40, "40"),
        (.flagshipVersion, "4.0.3", 4), (.interfaceName, "ProductPage", 1),
    ]

    @Test("each predefined key takes its type and no other", arguments: predefined.indices)
    func predefinedKeys(index: Int) async throws {
        let (key, good, bad) = Self.predefined[index]
        let bench = try await Bench()
        let visitor = await bench.flagship().newVisitor("ada", hasConsented: true).build()
        let before = visitor.context()[key.rawValue]
        #expect(visitor.updateContext(key, bad) == false)
        #expect(visitor.context()[key.rawValue] == before)
        #expect(visitor.updateContext(key, good))
        #expect(visitor.context()[key.rawValue] == good)
    }

    @Test(
        "a level lets through what is as important or more, in the order that Flagship has",
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

    @Test("typed hits go out with their own and the common keys")
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
        #expect(await visitor.sendHit(.event(.userEngagement, action: "")) == false)
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
