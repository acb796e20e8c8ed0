import ConformanceKit
import Experimentation
import Foundation
import Testing

@Suite("The catalogue of cases")
struct CatalogueTests {
    @Test("names are unique slash paths, and every case has a summary")
    func names() {
        let all = ConformanceCase.every
        #expect(Set(all.map(\.name)).count == all.count)
        for conformanceCase in all {
            #expect(conformanceCase.name.split(separator: "/").count >= 2, "\(conformanceCase.name)")
            #expect(!conformanceCase.name.contains(" "), "\(conformanceCase.name)")
            #expect(!conformanceCase.summary.isEmpty)
        }
    }

    @Test("every line of the neutral contract has a case", arguments: 1...23)
    func promises(_ promise: Int) {
        let cases = promise > 20 ? ConformanceCase.moving : ConformanceCase.all
        #expect(cases.contains { $0.promise == promise })
        #expect(Promise.texts[promise] != nil)
    }

    @Test("docs/conformance-cases.md lists the version of every case, and no missing case")
    func changelog() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../docs/conformance-cases.md"
        ).standardizedFileURL
        let text = try String(contentsOf: page, encoding: .utf8)
        let items = text.split(separator: "\n").filter { $0.hasPrefix("- ") || $0.hasPrefix("  ") }
        let listed = items.joined(separator: " ").split(separator: "`").map(String.init).filter { $0.contains("/") }
        let all = ConformanceCase.every
        #expect(listed.sorted() == all.map(\.name).sorted())
        #expect(text.contains("\n## \(ConformanceCase.suiteVersion)\n"))
    }

    @Test("there are at least 150 neutral cases")
    func count() { #expect(ConformanceCase.all.count >= 150) }

    @Test("every capability has a case that requires it, so that none is declared unnoticed")
    func probes() {
        let probed = Set(ConformanceCase.all.compactMap(\.probes))
        #expect(Capability.all.filter { !probed.contains($0) } == [])
        let asked = Set(ConformanceCase.all.flatMap(\.requires))
        #expect(Capability.all.filter { !asked.contains($0) } == [])
    }

    @Test(
        "patterns select cases",
        arguments: [
            ("exposures/recorded-once", true), ("exposures/*", true), ("*once", true), ("*/recorded-*", true),
            ("*", true),
            ("exposures", false), ("Exposures/*", false), ("exposures/recorded-once-more", false), ("", false),
        ]
    )
    func patterns(_ pattern: String, _ matches: Bool) throws {
        let conformanceCase = try #require(ConformanceCase.all.first { $0.name == "exposures/recorded-once" })
        #expect(conformanceCase.matches(pattern) == matches)
    }
}
