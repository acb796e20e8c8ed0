import ConformanceKit
import ConformanceSubjects
import Experimentation
import FlagshipAdapter
import Foundation
import Testing

@Suite("A mistake on an adapter's wire is caught")
struct WireMutantTests {
    /// An adapter's mutants and its subject.
    struct Family: Sendable, CustomTestStringConvertible {
        let name: String
        let mutants: [WireMutant]
        let subject: @Sendable (MutatingTransport) -> any ConformanceSubject
        var testDescription: String { name }
    }

    static let families = [
        Family(name: "flagship", mutants: WireMutant.flagship) { FlagshipSubject(mode: .decisionAPI, transport: $0) },
        Family(name: "flagship-bucketing", mutants: WireMutant.flagshipBucketing) {
            FlagshipSubject(mode: .bucketing, transport: $0)
        },
        Family(name: "sigma", mutants: WireMutant.sigma) { SigmaSubject(transport: $0) },
        Family(name: "engage", mutants: WireMutant.engage) { EngageSubject(transport: $0) },
        Family(name: "evergage", mutants: WireMutant.evergage) { EvergageSubject(transport: $0) },
    ]

    private static let runner = ConformanceRunner(limit: .seconds(30))

    @Test("P73 each mistake is caught by its own case, which passes without the mistake", arguments: families)
    func caught(_ family: Family) async throws {
        var survivors: [String] = []
        for mutant in family.mutants {
            let known = try #require(ConformanceCase.all.first { $0.name == mutant.caughtBy }, "\(mutant)")
            let result = await Self.runner.run(known, against: family.subject(MutatingTransport(mutant: mutant)))
            if result.outcome.word != "failed" { survivors.append("\(mutant.testDescription): \(result.outcome.word)") }
        }
        #expect(survivors == [])
        // A transport that changes nothing must change no verdict.
        let nothing = WireMutant("changes nothing", caughtBy: "", send: { _ in })
        for name in Set(family.mutants.map(\.caughtBy)).sorted() {
            let known = try #require(ConformanceCase.all.first { $0.name == name })
            let result = await Self.runner.run(known, against: family.subject(MutatingTransport(mutant: nothing)))
            #expect(result.outcome == .passed, "\(result.account)")
        }
    }

    @Test("each of the four adapters has at least fifteen distinct mutants")
    func count() {
        for family in Self.families where family.name != "flagship-bucketing" {
            #expect(family.mutants.count >= 15, "\(family.name)")
        }
        let names = Self.families.flatMap { family in family.mutants.map { "\(family.name): \($0.name)" } }
        #expect(Set(names).count == names.count)
    }

    @Test("docs/conformance-mutants.md lists each mutant with the case that catches it")
    func page() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/conformance-mutants.md"), encoding: .utf8)
        let rows = Self.families.flatMap { family in
            family.mutants.map { "| \(family.name) | \($0.name) | `\($0.caughtBy)` |" }
        }
        let listed = page.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| ") && $0.hasSuffix("` |") }
        #expect(listed == rows)
    }
}
