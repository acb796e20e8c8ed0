import ChildProcesses
import Foundation
import Testing

/// The packages that an application resolves for each library product.
@Suite("Package", .readsThePackage)
struct PackageTests {
    /// The expected external packages by product.
    static let expected: [String: Set<String>] = adapters.merging(others) { $1 }

    private static let adapters: [String: Set<String>] = Dictionary(
        uniqueKeysWithValues: Tree.vendors.map { ("\($0)Adapter", ["swift-http-types"]) }
            + Tree.durableVendors.map { ("\($0)SQLite", ["swift-http-types", "GRDB.swift"]) }
    )

    private static let others: [String: Set<String>] = [
        "Experimentation": [],
        "AdapterKit": ["swift-http-types"],
        "ExperimentationSQLite": ["GRDB.swift"],
        "ExperimentationComposition": ["swift-http-types"],
        "ExperimentationTesting": ["swift-http-types"],
        "ExperimentationTelemetry": ["swift-log", "swift-metrics", "swift-distributed-tracing"],
        "VendorCatalog": ["swift-http-types"],
        "ExperimentationMigration": [],
        "ExperimentationObservation": [],
        "FlagManifest": [],
        "ConformanceKit": [],
        "ComparisonKit": [],
        "MockVendors": ["swift-nio"],
        "ConformanceStages": ["swift-http-types", "swift-nio"],
        "ConformanceSubjects": ["swift-http-types", "swift-nio"],
        "OFREPServerSuite": ["swift-http-types", "swift-nio"],
    ]

    @Test("P69 a library product resolves exactly the packages listed here")
    func productsPullInTheseAlone() async throws {
        let manifest = try await Manifest.read()
        var found: [String: Set<String>] = [:]
        for product in manifest.libraries { found[product.name] = manifest.packages(of: product) }
        #expect(found == Self.expected)
    }

    @Test("P69 every dependency is declared with a lower bound, and NIO is 2.100 or later")
    func dependenciesHaveLowerBounds() throws {
        let text = try #require(Tree.text(of: "Package.swift"))
        let lines = text.split(separator: "\n").filter { $0.contains(".package(url:") }
        #expect(!lines.isEmpty)
        #expect(lines.allSatisfy { $0.contains(", from: \"") })
        let nio = try #require(lines.first { $0.contains("/swift-nio\"") })
        let minor = nio.split(separator: "\"").last { $0.contains(".") }?.split(separator: ".").dropFirst().first
        #expect((minor.flatMap { Int($0) } ?? 0) >= 100)
    }

    @Test("the lock file isn't committed")
    func lockFileStaysOut() throws {
        let ignored = try #require(Tree.text(of: ".gitignore"))
        #expect(ignored.split(separator: "\n").contains("Package.resolved"))
    }
}

/// The manifest as dumped by the package manager.
private struct Manifest: Decodable {
    struct Product: Decodable {
        let name: String
        let targets: [String]
        let type: [String: [String]?]
    }

    struct Target: Decodable {
        let name: String
        let dependencies: [Dependency]
    }

    /// One of `{"byName": [name, condition]}`, `{"target": […]}`, `{"product": [name, package, …]}`.
    struct Dependency: Decodable {
        let target: String?
        let package: String?

        enum Key: String, CodingKey { case byName, target, product }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            if container.contains(.product) {
                var parts = try container.nestedUnkeyedContainer(forKey: .product)
                _ = try parts.decode(String.self)
                package = try parts.decode(String.self)
                target = nil
            } else {
                var parts = try container.nestedUnkeyedContainer(
                    forKey: container.contains(.byName) ? .byName : .target
                )
                target = try parts.decode(String.self)
                package = nil
            }
        }
    }

    let products: [Product]
    let targets: [Target]

    var libraries: [Product] { products.filter { $0.type.keys.contains("library") } }

    func packages(of product: Product) -> Set<String> {
        var packages: Set<String> = []
        var seen: Set<String> = []
        var rest = product.targets
        while let name = rest.popLast() {
            guard seen.insert(name).inserted, let target = targets.first(where: { $0.name == name }) else { continue }
            packages.formUnion(target.dependencies.compactMap(\.package))
            rest.append(contentsOf: target.dependencies.compactMap(\.target))
        }
        return packages
    }

    static func read() async throws -> Manifest {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            ["swift", "package", "--package-path", Tree.root.path, "--scratch-path", scratch.path, "dump-package"]
        )
        await process.output.untilEnd()
        return try JSONDecoder().decode(Manifest.self, from: Data(process.output.text.utf8))
    }
}
