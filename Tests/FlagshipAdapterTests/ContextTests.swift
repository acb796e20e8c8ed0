import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: the context")
struct ContextTests {
    @Test(
        "F44 a bucketing fetch sends the context in one hit of strings, once for each context, and not without consent"
    )
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

    @Test("a context whose hit was refused, or was removed with a withdrawal of consent, is sent after the next fetch")
    func segmentAgain() async throws {
        let bench = try await Bench()
        let flaky = FlakyOutbox(bench.store.outbox)
        let store = ClientStore(outbox: flaky, state: bench.store.state)
        let flagship = await bench.flagship(.bucketing, store: store)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        try await flagship.client?.flush()
        flaky.isRefusing.store(true, ordering: .relaxed)
        await visitor.fetchFlags()
        flaky.isRefusing.store(false, ordering: .relaxed)
        await visitor.fetchFlags()
        #expect(try await flagship.client?.waitingEvents().map(\.envelope.event.type) == ["native"])
        await visitor.setConsent(false)
        await visitor.setConsent(true)
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        #expect(
            await bench.hits.compactMap { $0["el"] ?? $0["t"] } == ["iOS:true", "iOS:false", "iOS:true", "SEGMENT"]
        )
    }

    /// Rejects hits while a test wants it to.
    final class FlakyOutbox: OutboxStoreDecorator {
        let base: any OutboxStore
        let isRefusing = Atomic(false)
        init(_ base: any OutboxStore) { self.base = base }

        func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
            if isRefusing.load(ordering: .relaxed) { throw ExperimentationError(.store, "as the test wants it") }
            return try await base.append(events, now: now)
        }
    }

    @Test(
        "the automatic keys exist on every platform, the application's values take precedence, and clearing removes all"
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

    @Test("behind the neutral client the automatic keys are set as well, except for the first run's")
    func neutralKeys() async throws {
        let bench = try await Bench()
        let client = try await bench.client()
        for attributes in [[:], ["sdk_firstTimeInit": true]] as [Attributes] {
            try await client.session(for: User(id: "ada", attributes: attributes, consent: .granted)).refresh()
        }
        let contexts = bench.transport.exchanges("campaigns").compactMap { $0.json["context"]?.objectValue }
        let keys = FlagshipContextKey.allCases.filter(\.isAutomatic).map(\.rawValue)
        #expect(contexts.map { context in keys.filter { context[$0] == nil } } == [["sdk_firstTimeInit"], []])
        #expect(contexts.last?["sdk_firstTimeInit"] == true)
    }

    @Test(
        "a visitor with one id has no anonymous one, in requests and in rules",
        arguments: [("ada", ""), ("", "ada"), ("ada", "ada")].map { Identity(id: $0, anonymousID: $1) }
    )
    func emptyID(identity: Identity) throws {
        let user = User(id: identity.id, anonymousID: identity.anonymousID, consent: .granted)
        let context = EvaluationContext(user: user, date: ManualTime().now)
        #expect(
            context.flagshipQuestion([:]) == [
                "visitor_id": "ada", "context": ["fs_users": "ada"], "trigger_hit": false, "visitor_consent": true,
            ]
        )
        let rule: [String: FlagValue] = ["key": "fs_users", "operator": "EQUALS", "value": "ada"]
        #expect(BucketingRule(rule, rules: .ios, automatic: [:]).holdsOnIOS(for: context))
        let split = BucketingSample(groups: [("g", BucketingSample.everybody, (0..<50).map { ("v-\($0)", "2") })])
        let own = EvaluationContext(user: User(id: "ada"), date: ManualTime().now)
        let ruleset = try split.ruleset()
        #expect(ruleset.decisions(for: context)["flag"] == ruleset.decisions(for: own)["flag"])
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

    @Test("each predefined key accepts only values of its type", arguments: predefined.indices)
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

    @Test("F72 values of unsupported types are left out, and the others apply, at creation too")
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

    @Test("the key of the visitor's id can't be set: a value for it is left out and logged, at creation too")
    func usersKey() async throws {
        let bench = try await Bench()
        let visitor = await bench.flagship().newVisitor("ada", hasConsented: true)
            .context(["fs_users": "ben", "good": 1]).build()
        await visitor.fetchFlags()
        visitor.updateContext("fs_users", "cleo")
        #expect(visitor.context()["fs_users"] == "ada" && visitor.context()["good"] == 1)
        #expect(visitor.session?.user.attributes["fs_users"] == nil)
        // Their own value, as in a context that was read from them, is no change.
        visitor.updateContext(visitor.context())
        #expect(visitor.fetchStatus == .fetched)
        #expect(bench.log.entries.count { $0.event == "flagship.UPDATE_CONTEXT" && $0.level == .error } == 2)
    }
}
