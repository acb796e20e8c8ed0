import AdapterKit
import Experimentation
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: what an exposure says")
struct ExposureContentTests {
    @Test("a default that no event can carry is left out, and neither the exposure nor its callback is lost")
    func unwritableDefault() async throws {
        var deep: FlagValue = 1
        for _ in 0..<200 { deep = [deep] }
        let reads: [(key: String, value: FlagValue, read: (FlagshipFlag) -> FlagValue)] = [
            ("ratio", 0.5, { .double($0.value(default: .infinity)) }),
            ("ratio", 0.5, { .double($0.value(default: .nan)) }),
            ("theme", ["dark": false], { .object($0.value(default: ["deep": deep])) }),
        ]
        for (key, value, read) in reads {
            let bench = try await Bench()
            let heard = Heard<FlagshipExposedFlag>()
            let (flagship, visitor) = await FlagTests.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
            #expect(read(visitor.flag(key)) == value)
            #expect(visitor.flag("whole").value(default: Double.infinity) == 3)
            #expect(try await FlagTests.activations(bench, flagship) == ["var-plain"])
            let whole = FlagshipExposedFlag(
                key: "whole",
                value: visitor.flag("whole").resolution?.value,
                defaultValue: nil,
                metadata: visitor.flag("whole").metadata()
            )
            let first = FlagshipExposedFlag(key: key, value: value, defaultValue: nil, metadata: whole.metadata)
            #expect(heard.values == [first, whole])
        }
    }

    @Test("an exposure reported by itself has the default of the flag's last read")
    func lastDefault() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await FlagTests.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        for word in ["first", "last"] { _ = visitor.flag("cta").value(default: word, visitorExposed: false) }
        _ = visitor.flag("size").value(default: "of another type", visitorExposed: false)
        _ = visitor.flag("on").value(default: true, visitorExposed: false)
        _ = visitor.flag("on").value(as: Bool.self, visitorExposed: false)
        for key in ["cta", "size", "on", "ratio"] { visitor.flag(key).visitorExposed() }
        #expect(try await FlagTests.activations(bench, flagship) == ["var-b", "var-plain"])
        let told = Dictionary(uniqueKeysWithValues: heard.values.map { ($0.key, $0.defaultValue) })
        #expect(told == ["cta": "last", "size": "of another type", "on": .none, "ratio": .none])
    }

    @Test("an exposure restored from a cache of hits is reported to the application completely")
    func cachedExposure() async throws {
        let bench = try await Bench()
        let cache = OwnCache()
        let (first, visitor) = await FlagTests.fetched(bench) { $0.caches = FlagshipCaches(hits: cache) }
        bench.transport.fail("activate", .error(.transport), times: 50)
        _ = visitor.flag("cta").value(default: "none")
        let flag = FlagshipExposedFlag(
            key: "cta",
            value: "new",
            defaultValue: "none",
            metadata: visitor.flag("cta").metadata()
        )
        let exposed = FlagshipExposedVisitor(id: "ada", context: visitor.context())
        visitor.updateContext("city", "paris")
        await first.close()
        let records = cache.hits.values.filter { $0.type == "ACTIVATE" }
        #expect(
            records.map(\.content) == [
                [
                    "cid": .string(Bench.environmentID), "vid": "ada", "caid": "grp-test", "vaid": "var-b", "qt": 0,
                    "internal_exposure_flag": .string(try #require(flag.toJson())),
                    "internal_exposure_visitor": .string(try #require(exposed.toJson())),
                ]
            ]
        )

        bench.transport.heal()
        let heard = Heard<(visitor: FlagshipExposedVisitor, flag: FlagshipExposedFlag)>()
        let second = await bench.flagship(store: .inMemory()) { options in
            options.caches = FlagshipCaches(hits: cache)
            options.onVisitorExposed = { heard.add((visitor: $0, flag: $1)) }
        }
        _ = await second.newVisitor("ada", hasConsented: true).build()
        #expect(try await FlagTests.activations(bench, second) == ["var-b"])
        #expect(heard.values.map(\.flag) == [flag])
        #expect(heard.values.map(\.visitor) == [exposed])
        let sent = bench.transport.exchanges("activate").last?.json["batch"]?.arrayValue?.compactMap(\.objectValue)
        #expect(sent?.map { $0.keys.sorted() } == [["caid", "cid", "qt", "vaid", "vid"]])
    }

    private func record(flag: FlagValue?, visitor: FlagValue?) -> FlagshipHitRecord {
        var content: [String: FlagValue] = [
            "cid": .string(Bench.environmentID), "vid": "amber-17", "aid": "8C0D-anon", "caid": "grp-mango-1",
            "vaid": "var-mango-b", "qt": 0,
        ]
        content["internal_exposure_flag"] = flag
        content["internal_exposure_visitor"] = visitor
        return FlagshipHitRecord(
            visitorID: "amber-17",
            anonymousID: "8C0D-anon",
            type: "ACTIVATE",
            time: Date(timeIntervalSince1970: 1_900_000_006),
            content: content
        )
    }

    @Test("the original's record of an exposure says what was seen, by whom and in which context")
    func originalRecord() throws {
        let metadata: [String: FlagValue] = [
            "campaignId": "camp-mango", "campaignName": "Mango", "variationGroupId": "grp-mango-1",
            "variationGroupName": "All", "variationId": "var-mango-b", "variationName": "B", "isReference": true,
            "campaignType": "ab", "slug": "mango-test",
        ]
        let flag: FlagValue = [
            "key": "cta", "metadata": .object(metadata), "value": ["a": [1]], "defaultValue": "none",
        ]
        let visitor: FlagValue = [
            "id": "amber-17", "anonymousId": "8C0D-anon", "context": ["plan": "pro", "age": 41, "list": [1]],
        ]
        let record = record(
            flag: .string(try JSON.text(flag)),
            visitor: .string(try JSON.text(visitor))
        )
        let exposure = Exposure(
            assignment: FlagshipFlagMetadata(metadata).assignment,
            flagKey: "cta",
            value: ["a": [1]],
            defaultValue: "none"
        )
        #expect(
            record.envelope(id: "1")
                == Envelope(
                    id: "1",
                    identity: Identity(id: "amber-17", anonymousID: "8C0D-anon"),
                    event: TrackingEvent(
                        .exposure(exposure),
                        attributes: [FlagshipExposedVisitor.contextAttribute: ["plan": "pro", "age": 41]]
                    ),
                    date: record.time
                )
        )
        let again = FlagshipHitRecord.records(
            of: try #require(record.envelope(id: "1")),
            environmentID: Bench.environmentID
        )
        #expect(again["1"]?.envelope(id: "1") == record.envelope(id: "1"))
    }

    @Test(
        "a record that doesn't say what was seen still makes the exposure of its variation",
        arguments: [nil, "{}", "{", "[]", true, #"{"metadata":{"variationGroupId":"other","variationId":"other"}}"#]
            as [FlagValue?]
    )
    func silentRecord(text: FlagValue?) throws {
        let envelope = try #require(record(flag: text, visitor: text).envelope(id: "1"))
        var metadata = FlagshipFlagMetadata()
        (metadata.variationGroupId, metadata.variationId) = ("grp-mango-1", "var-mango-b")
        let assignment = Assignment(
            experiment: Experiment(id: "grp-mango-1"),
            group: "grp-mango-1",
            variation: Variation(id: "var-mango-b"),
            metadata: metadata.toDictionary()
        )
        #expect(envelope.event == TrackingEvent(.exposure(Exposure(assignment: assignment))))
    }
}
