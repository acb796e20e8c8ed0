import Testing

/// Adapters have the same files, named after the vendor, and the same table in the README.
@Suite("Adapter folders", .readsThePackage)
struct AdapterFolderTests {
    /// Each file that an adapter has, after the vendor's name, by its folder: how events and answers are translated, how a
    /// file of settings is read, and the wire with its settings, addresses, formats and errors.
    static let names = [
        "Translation": ["Translation"], "Settings": ["Configuration+Reading"],
        "Wire": ["Configuration", "Requests", "Wire", "Errors"],
    ]

    @Test("an adapter has the core files, named after its vendor, in the same places", arguments: Tree.vendors)
    func hasCoreFiles(vendor: String) {
        let files = Set(Tree.files(in: "Adapters/\(vendor)").map(\.path))
        let folder = "Adapters/\(vendor)"
        let inFolders = Self.names.flatMap { room, names in names.map { "\(folder)/\(room)/\(vendor)\($0).swift" } }
        #expect((["\(folder)/\(vendor)Provider.swift"] + inFolders).filter { !files.contains($0) } == [])
    }

    @Test("a provider is a value made of a configuration and a transport", arguments: Tree.vendors)
    func followsTheRecipe(vendor: String) throws {
        let source = try #require(
            Tree.files(in: "Adapters/\(vendor)").first { $0.path.hasSuffix("/\(vendor)Provider.swift") }
        )
        let lines = Set(source.code.split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } })
        let recipe = [
            "public struct \(vendor)Provider: ExperimentationProvider {",
            "public let configuration: \(vendor)Configuration",
            "private let transport: (any HTTPTransport)?",
            "public init(configuration: \(vendor)Configuration, transport: (any HTTPTransport)? = nil) {",
            "public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {",
            "try configuration.validate()",
        ]
        #expect(recipe.filter { !lines.contains($0[...]) } == [])
    }

    @Test(
        "a README with a table has the common one, then deviations and sources",
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

    @Test("each vendor has a mock, a subject, an entry in the registry, and tests", arguments: Tree.vendors)
    func hasItsCounterparts(vendor: String) {
        #expect(!Tree.files(in: "Conformance/MockVendors/\(vendor)").isEmpty)
        #expect(Tree.text(of: "Conformance/Subjects/\(vendor)Subject.swift") != nil)
        #expect(Tree.text(of: "Sources/VendorCatalog/VendorCatalog.swift")?.contains("\(vendor)Provider(") == true)
        #expect(Tree.text(of: "Conformance/Subjects/Vendors.swift")?.contains("\(vendor)Subject(") == true)
        #expect(!Tree.files(in: "Tests/\(vendor)AdapterTests").isEmpty)
    }
}
