import Testing

/// Four adapters that are read alike: the same files after the vendor's name, the same table in the README.
@Suite("Adapter folders")
struct AdapterFolderTests {
    static let coreNames = ["Provider", "Configuration", "Requests", "Wire", "Translation", "Errors", "Extras"]

    @Test("an adapter has the core files, named after its vendor", arguments: Tree.vendors)
    func hasCoreFiles(vendor: String) {
        let files = Set(Tree.files(in: "Adapters/\(vendor)").map(\.path))
        let missing = Self.coreNames.map { "Adapters/\(vendor)/\(vendor)\($0).swift" }.filter { !files.contains($0) }
        #expect(missing == [])
    }

    @Test(
        "a README that has a table has the one that all have, then the deviations and the sources",
        arguments: Tree.vendors
    )
    func readmeHasTheTable(vendor: String) throws {
        let readme = try #require(Tree.text(of: "Adapters/\(vendor)/README.md"))
        let lines = readme.split(separator: "\n").map { $0.filter { $0 != " " } }
        guard lines.contains(where: { $0.hasPrefix("|") }) else { return }
        #expect(lines.contains("|Supported|NeutralAPI|Typedextras|Notes|"))
        let headings = readme.split(separator: "\n").filter { $0.hasPrefix("#") }
        for word in ["Set-up", "Deviations", "Sources"] {
            #expect(headings.contains { $0.contains(word) }, "Adapters/\(vendor)/README.md has no heading \(word)")
        }
    }

    @Test("each vendor has a mock, a subject, a place in the registry and tests", arguments: Tree.vendors)
    func hasItsCounterparts(vendor: String) {
        #expect(!Tree.files(in: "Conformance/MockVendors/\(vendor)").isEmpty)
        #expect(Tree.text(of: "Conformance/Subjects/\(vendor)Subject.swift") != nil)
        #expect(Tree.text(of: "Conformance/Subjects/Vendors.swift")?.contains("\(vendor)Provider(") == true)
        #expect(!Tree.files(in: "Tests/\(vendor)AdapterTests").isEmpty)
    }
}
