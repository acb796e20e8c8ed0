import AdapterKit
import Experimentation
import Foundation
import MockVendors
import OFREPServerSuite
import Testing

@Suite("OFREP server suite")
struct FaultTests {
    /// Each planted fault, and the case that must find it.
    static let finders: [(OFREPServerFault, String)] = [
        (.tagOfTheUserAlone, "tags/attributes"), (.newTagEachTime, "tags/stable"), (.tagWithoutQuotes, "tags/form"),
        (.readsOneTag, "tags/list"), (.takesNoWeakTag, "tags/weak"), (.takesNoBareTag, "tags/bare"),
        (.matchesPartOfATag, "tags/part"), (.confirmsRefusals, "tags/refusals"), (.trustsTheQuery, "tags/query"),
        (.floatsWithoutFraction, "numbers/floats"), (.integersWithFraction, "numbers/integers"),
        (.hugeIntegers, "numbers/safe"), (.nullForNoValue, "bulk/no-null"),
        (.ignoresAttributes, "context/attributes-count"), (.disagreesAlone, "bulk/agrees"),
        (.noVariant, "single/variant"), (.strangeReason, "bulk/reasons"), (.nestedMetadata, "bulk/flat-metadata"),
        (.sameKeyTwice, "bulk/keys-once"), (.textIsNoJSON, "bulk/json"), (.refusesWithoutKey, "single/absent"),
        (.refusesWithoutWords, "body/not-json-all"), (.refusesInPlainText, "context/number-one"),
        (.ownCodes, "single/failing"), (.absentIsGood, "single/absent"), (.failsOnBadBodies, "body/cut-all"),
        (.failsWithoutAContext, "context/missing-one"), (.splitsAtSlashes, "keys/escaped-slash"),
        (.decodesTwice, "keys/decoded-once"), (.plusIsSpace, "keys/plus"), (.anyTokenWillDo, "access/wrong-token"),
        (.tellsStrangersOfFlags, "access/nobody"), (.looksBeforeItLetsIn, "access/first"),
        (.patienceWithAFraction, "limits/patience"), (.takesAnyMethod, "methods/get"),
        (.streamIsText, "streams/opens"), (.streamEndsAtOnce, "streams/stays"),
        (.streamTellsValues, "streams/change"), (.streamIsForEverybody, "streams/strangers"),
    ]

    @Test("a correct server passes every case, and skipped cases have a reason")
    func honest() async throws {
        let report = try await MockedServer.run(nil, ServerCase.all)
        #expect(report.failed == [], "\(report.text())")
        #expect(report.isSuccess)
        let skipped = report.results.filter { $0.outcome.word == "skipped" }
        #expect(
            Set(skipped.map(\.name)) == ["access/others", "shutdown/under-way"],
            "\(skipped.map { "\($0.name): \($0.reasons)" })"
        )
        #expect(ServerCase.all.count >= 80)
    }

    @Test("a planted fault is found by its case", arguments: finders)
    func found(fault: OFREPServerFault, name: String) async throws {
        let cases = ServerCase.all.filter { $0.name == name }
        #expect(cases.count == 1)
        let report = try await MockedServer.run(fault, cases)
        #expect(report.failed == [name])
    }

    @Test("every fault has its case, and cases have unique names")
    func complete() {
        #expect(Set(Self.finders.map(\.0)) == Set(OFREPServerFault.allCases))
        #expect(OFREPServerFault.allCases.count >= 25)
        #expect(Set(ServerCase.all.map(\.name)).count == ServerCase.all.count)
    }

    @Test("a declared feature that is missing fails its cases; an undeclared one is skipped")
    func declared() async throws {
        let mute = try await MockedServer.run(nil, ServerCase.all.filter { $0.matches("streams/*") }) { mock, server in
            mock.setOffersEvents(false)
            server.declaration.features = [.eventStreams]
        }
        #expect(mute.failed.count == mute.results.count)
        let quiet = try await MockedServer.run(nil, ServerCase.all.filter { $0.matches("tags/*") }) { _, server in
            server.declaration.features = []
        }
        #expect(quiet.results.allSatisfy { $0.outcome == .skipped("entityTags: not declared") })
        // A run without checks must not succeed.
        #expect(!quiet.isSuccess)
    }

    @Test("an unreachable server is reported as one plain error, not as a list of failures")
    func absent() async throws {
        for (address, reason) in [
            ("http://127.0.0.1:1", "connection refused"), ("http://localhost:1", "connection refused"),
        ] {
            let server = OFREPServer(try Endpoint(address))
            let error = await #expect(throws: ExperimentationError.self) {
                _ = try await ServerSuite().run(against: server)
            }
            #expect(error?.code == .transport)
            #expect(error?.message == "\(server.name): the server can't be reached: \(reason)")
        }
    }

    @Test("patterns select cases")
    func patterns() {
        let names = ServerCase.all.filter { $0.matches("*/list*") }.map(\.name)
        #expect(names == ["context/list-all", "context/list-one", "body/list-all", "body/list-one", "tags/list"])
        #expect(ServerCase.all.filter { $0.matches("tags/weak") }.count == 1)
        #expect(ServerCase.all.filter { $0.matches("tags") }.isEmpty)
    }
}
