import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: flags and exposures")
struct FlagTests {
    @Test("flags whose keys are only equivalent in Unicode are two, in an answer as in a file, and are read apart")
    func equivalentKeys() async throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let campaigns = [composed, decomposed].map { key in
            let variation =
                #"{"id":"var-\#(key.utf8.count)","modifications":{"type":"FLAG","value":{"\#(key)":\#(key.utf8.count)}}}"#
            return #"{"id":"camp","variationGroupId":"grp-\#(key.utf8.count)","variation":\#(variation)}"#
        }
        let bench = try await Bench()
        bench.transport.fail("campaigns", .body(#"{"campaigns":[\#(campaigns.joined(separator: ","))]}"#))
        let visitor = await bench.flagship().newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.flags().count == 2)
        #expect(Set(visitor.flags().map { $0.key.utf8.count }) == [2, 3])
        for key in [composed, decomposed] {
            #expect(visitor.flags()[key].metadata().variationId == "var-\(key.utf8.count)")
            #expect(visitor.flag(key).value(default: -key.utf8.count, visitorExposed: false) == key.utf8.count)
        }
        #expect([composed, decomposed].map { visitor.lastDefault(of: $0) } == [-2, -3])
    }

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
        await flagship.service?.observations.untilTold()
        return await bench.mock.receivedActivations.map(\.variation)
    }

    @Test("F48 without a default the value is returned in the requested type, or not at all")
    func withoutDefault() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        #expect(visitor.flag("size").value(as: Int.self) == 7)
        #expect(visitor.flag("size").value(as: String.self) == nil)
        #expect(visitor.flag("nobody").value(as: Int.self) == nil)
        #expect(try await Self.activations(bench, flagship) == ["var-plain"])
    }

    @Test("F49 a value can be read without an exposure, which is reported once later")
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

    @Test("a policy restores the original's exposure for every read, each reported to the application")
    func everyRead() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let (flagship, visitor) = await Self.fetched(bench) {
            $0.exposurePolicy = .everyRead
            $0.onVisitorExposed = { heard.add($1.key) }
        }
        for _ in 0..<3 { _ = visitor.flag("cta").value(default: "none") }
        #expect(try await Self.activations(bench, flagship) == ["var-b", "var-b", "var-b"])
        #expect(await bench.eventually { heard.values == ["cta", "cta", "cta"] })
    }

    @Test("F51 exposing all flags records one exposure for each variation, and reports each flag to the application")
    func exposeAll() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1.key) } }
        visitor.flags().exposeAll()
        visitor.flags().exposeAll()
        #expect(try await Self.activations(bench, flagship) == ["var-lyon", "var-b", "var-plain"])
        #expect(await bench.eventually { heard.values.count == 9 })
        #expect(
            heard.values.sorted() == [
                "color", "cta", "list", "on", "onlyA", "ratio", "size", "theme", "whole",
            ]
        )

        let (often, other) = await Self.fetched(bench) { $0.exposurePolicy = .everyRead }
        other.flags().filter { key, _ in ["cta", "onlyA", "color"].contains(key) }.exposeAll()
        #expect(try await Self.activations(bench, often).suffix(3) == ["var-lyon", "var-b", "var-b"])
    }

    @Test("a null flag shows the default because its variation says so: it is exposed, with its null value")
    func nullFlag() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        #expect(visitor.flag("onlyA").value(default: 5) == 5)
        #expect(visitor.flag("cta").value(default: 5) == 5, "of another type")
        #expect(try await Self.activations(bench, flagship) == ["var-b"])
        #expect(heard.values.map(\.key) == ["onlyA"])
        #expect(heard.values.first?.defaultValue == 5)
    }

    @Test("the application is told of each flag once, even if its variation was exposed long before")
    func laterFlag() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        _ = visitor.flag("size").value(default: 0)
        _ = visitor.flag("on").value(default: false)
        #expect(heard.values.isEmpty, "nothing is told before the vendor has it")
        #expect(try await Self.activations(bench, flagship) == ["var-plain"])
        #expect(heard.values.map(\.key) == ["size", "on"])
        for _ in 0..<2 { _ = visitor.flag("ratio").value(default: 0.0) }
        #expect(await bench.eventually { heard.values.count == 3 })
        #expect(heard.values.last?.key == "ratio" && heard.values.last?.value == 0.5)
        #expect(try await Self.activations(bench, flagship) == ["var-plain"])
    }

    @Test("closing reports exposures that the vendor has accepted to the application")
    func toldAtTheEnd() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        for key in ["cta", "size", "color"] { visitor.flag(key).visitorExposed() }
        await flagship.close()
        #expect(heard.values.map(\.key) == ["cta", "size", "color"])
    }

    @Test("the application is notified with the visitor as of the time of the exposure, even by the next run")
    func contextAtExposure() async throws {
        let bench = try await Bench()
        let (first, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { _, _ in } }
        bench.transport.fail("activate", .error(.transport), times: 50)
        _ = visitor.flag("cta").value(default: "none")
        visitor.updateContext("city", "paris")
        await first.close()
        bench.transport.heal()
        bench.time.advance(by: .seconds(300))
        let heard = Heard<FlagshipExposedVisitor>()
        let second = await bench.flagship { $0.onVisitorExposed = { visitor, _ in heard.add(visitor) } }
        _ = await second.newVisitor("ada", hasConsented: true).build()
        try await second.client?.flush()
        await second.service?.observations.untilTold()
        #expect(heard.values.map { $0.context["city"] } == ["lyon"])
        #expect(bench.transport.exchanges("activate").allSatisfy { $0.json["context"] == nil })
    }

    @Test("with the manual policy reads are no exposures, and explicit ones are")
    func manual() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench) { $0.exposurePolicy = .manual }
        _ = visitor.flag("cta").value(default: "none")
        _ = visitor.flag("size").value(as: Int.self, visitorExposed: true)
        #expect(try await Self.activations(bench, flagship) == [])
        visitor.flag("cta").visitorExposed()
        #expect(try await Self.activations(bench, flagship) == ["var-b"])
    }

    @Test("in panic mode found by another visitor's fetch, a flag's status says so")
    func panicOfOthers() async throws {
        let bench = try await Bench()
        let (flagship, visitor) = await Self.fetched(bench)
        #expect(visitor.flag("cta").status == .fetched)
        await bench.mock.setPanic(true)
        await flagship.newVisitor("ben", hasConsented: true).build().fetchFlags()
        #expect(visitor.flag("cta").status == .panic && visitor.flag("nobody").status == .panic)
        #expect(visitor.flag("cta").value(default: "none") == "none")
    }

    @Test("F52 the callback isn't called for a failed exposure, and later for each one that the vendor accepted")
    func exposureCallback() async throws {
        let bench = try await Bench()
        let heard = Heard<(FlagshipExposedVisitor, FlagshipExposedFlag)>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add(($0, $1)) } }
        let client = try #require(flagship.client)
        try await client.flush()
        bench.transport.fail("activate", .status(500))
        _ = visitor.flag("cta").value(default: "none")
        // This flush waits until each event was tried once.
        #expect(try await client.flush(retrying: false).isDone == false)
        #expect(bench.transport.exchanges("activate").count == 1)
        #expect(heard.values.isEmpty)
        _ = visitor.flag("size").value(default: 0)
        for _ in 0..<200 where try await client.ledger().pending > 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await client.flush(retrying: false)
        }
        #expect(await bench.eventually { heard.values.count == 2 })
        #expect(heard.values.map(\.1.key).sorted() == ["cta", "size"])
        let sizes = bench.transport.exchanges("activate").map { $0.json["batch"]?.arrayValue?.count }
        #expect(sizes == [1, 1, 1], "what failed goes again as it was, and the next behind it")
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
        // Both forms have the same content.
        #expect(try JSON.parse(try #require(cta.1.toJson())) == .object(cta.1.toDictionary()))
        #expect(try JSON.parse(try #require(cta.0.toJson())) == .object(cta.0.toDictionary()))
        #expect(cta.0.toDictionary()["anonymousId"] == nil)
    }

    @Test("the callback has both ids of a signed-in visitor")
    func exposedAnonymousID() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedVisitor>()
        let (flagship, visitor) = await Self.fetched(bench) {
            $0.onVisitorExposed = { visitor, _ in heard.add(visitor) }
        }
        visitor.authenticate("member")
        await visitor.fetchFlags()
        visitor.flag("cta").visitorExposed()
        try await flagship.client?.flush()
        await flagship.service?.observations.untilTold()
        #expect(heard.values.map(\.id) == ["member"] && heard.values.map(\.anonymousID) == ["ada"])
        #expect(heard.values.first?.toDictionary()["anonymousId"] == "ada")
        #expect(heard.values.first?.context["fs_users"] == "member")
    }

    @Test("an exposed reference variation is reported as the reference")
    func referenceIsTold() async throws {
        let bench = try await Bench()
        let heard = Heard<FlagshipExposedFlag>()
        let (flagship, visitor) = await Self.fetched(bench) { $0.onVisitorExposed = { heard.add($1) } }
        _ = visitor.flag("color").value(default: "none")
        #expect(try await Self.activations(bench, flagship) == ["var-lyon"])
        #expect(heard.values.map(\.metadata.isReference) == [true])
    }

    @Test(
        "F53 a flag's status follows from the fetch status and whether the flag is known",
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

    @Test("a flag's status is computed on demand")
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

    @Test("F55 metadata has all members, and empty ones for an unknown flag")
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

    @Test("F56 an integer is read as an Int and as a Double, a fraction only as a Double")
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
