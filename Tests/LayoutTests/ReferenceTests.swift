import Testing

/// The reference pages list every public type, for application, adapter and store authors.
@Suite("Reference", .readsThePackage)
struct ReferenceTests {
    @Test("every public type of the core is on one page of the reference, and every listed type exists")
    func everyTypeHasItsPlace() {
        let listed = ["Experimentation", "Providers", "Stores"].flatMap(Self.listed)
        #expect(Set(listed).count == listed.count)
        #expect(Set(listed).symmetricDifference(publicTypes).sorted() == [])
    }

    /// The libraries besides the core, by the folder of their sources.
    static let libraries: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "AdapterKit", "ExperimentationSQLite", "ExperimentationComposition", "ExperimentationTesting",
            "ExperimentationTelemetry", "ExperimentationMigration", "ExperimentationObservation", "FlagManifest",
            "VendorCatalog",
        ].map { ($0, "Sources/\($0)") }
            + ["ConformanceKit", "ComparisonKit", "MockVendors", "OFREPServerSuite"].map { ($0, "Conformance/\($0)") }
            + [("ConformanceSubjects", "Conformance/Subjects"), ("ConformanceStages", "Conformance/Stages")]
            + Tree.vendors.map { ("\($0)Adapter", "Adapters/\($0)") }
    )

    @Test(
        "every public type of a library is under one topic of its page, and every listed type exists",
        arguments: libraries.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }
    )
    func everyTypeOfALibraryHasItsPlace(library: [String]) {
        let listed = Self.listed(on: library[0])
        #expect(Set(listed).count == listed.count)
        #expect(Set(listed).symmetricDifference(Self.publicTypes(in: library[1])).sorted() == [])
    }

    @Test("every library product has a page of the reference")
    func everyProductHasItsPage() throws {
        // Extensions of another module's type have no symbol of their own for a page.
        let products = Set(PackageTests.expected.keys).subtracting(Tree.durableVendors.map { "\($0)SQLite" })
        #expect(products.symmetricDifference(Set(Self.libraries.keys).union(["Experimentation"])).sorted() == [])
    }

    private static func listed(on page: String) -> [String] {
        (Tree.text(of: "docs/reference.docc/\(page).md") ?? "").split(separator: "\n")
            .filter { $0.hasPrefix("- ``") }
            .map { String($0.dropFirst(4).dropLast(2)) }
            // An article belongs to no module, so its links include the module.
            .map { $0.hasPrefix("Experimentation/") ? String($0.dropFirst(16)) : $0 }
    }

    @Test("types that encode events are package-internal, so that their format may change")
    func codecsAreInternal() {
        #expect(publicTypes.filter { $0.hasSuffix("Coding") || $0.hasSuffix("Writer") || $0.hasSuffix("Reader") } == [])
    }

    private var publicTypes: [String] { Self.publicTypes(in: "Sources/Experimentation") }

    private static func publicTypes(in folder: String) -> [String] {
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        return Tree.files(in: folder).flatMap { source in
            source.code.split(separator: "\n").compactMap { line -> String? in
                guard line.hasPrefix("public ") else { return nil }
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                guard let kind = words.firstIndex(where: { kinds.contains($0) }), kind + 1 < words.count else {
                    return nil
                }
                return String(words[kind + 1])
            }
        }
    }
}
