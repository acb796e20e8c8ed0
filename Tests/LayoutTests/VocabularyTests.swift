import Foundation
import Testing

/// A vendor's words may appear only in that vendor's folders, comments included.
@Suite("Vocabulary", .readsThePackage)
struct VocabularyTests {
    /// Words that would reveal a vendor.
    static let words = [
        "flagship", "abtasty", "ab tasty", #"\bsigma(?!sk)"#, "silverpop", "evergage", #"\bengage\b"#, "engagesdk",
        "xmlapi", "ofrep",
        #"\bubf"#, "fsvisitor", "cachettl", "bucketing", #"\bvisitors?\b"#, "mobileidentity",
    ]

    @Test(
        "no vendor's word appears in a folder for all vendors",
        arguments: [
            "Sources/Experimentation", "Sources/AdapterKit", "Sources/ExperimentationSQLite",
            "Sources/ExperimentationTesting", "Sources/ExperimentationComposition", "Conformance/ConformanceKit",
            "Conformance/ComparisonKit",
            "Conformance/MockVendors/Kit",
        ]
    )
    func coreIsNeutral(folder: String) throws {
        let pattern = try SwiftText.pattern(Self.words.joined(separator: "|")).ignoresCase()
        var found: [String] = []
        // Substrings of all matches, searched first to skip the slower patterns.
        let hints = Self.words.map {
            $0.replacing(#"\b"#, with: "").replacing("s?", with: "").replacing("(?!sk)", with: "")
        }
        func isSuspicious(_ text: some StringProtocol) -> Bool {
            hints.contains { text.range(of: $0, options: .caseInsensitive) != nil }
        }
        for source in Tree.files(in: folder) where isSuspicious(source.text) {
            for (number, line) in source.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                guard isSuspicious(line), let match = line.firstMatch(of: pattern) else { continue }
                found.append("\(source.path):\(number + 1): \(line[match.range])")
            }
        }
        #expect(found == [])
    }

    @Test("no vendor's word appears in another vendor's adapter", arguments: Tree.vendors)
    func adaptersKeepApart(vendor: String) throws {
        let others = Tree.vendors.filter { $0 != vendor }.map { #"\b\#($0)[A-Z]\w*"# }
        let pattern = try SwiftText.pattern(others.joined(separator: "|"))
        let found = Tree.files(in: "Adapters/\(vendor)").filter { $0.code.contains(pattern) }.map(\.path)
        #expect(found == [])
    }
}
