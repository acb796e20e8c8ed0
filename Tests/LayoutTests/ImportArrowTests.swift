import Testing

/// Which modules each target may import: the table of the architecture page, checked in the sources.
@Suite("Import arrows", .readsThePackage)
struct ImportArrowTests {
    /// A target's folder and the modules that it may import.
    struct Arrow: Sendable, CustomTestStringConvertible {
        let folder: String
        let allowed: Set<String>
        var testDescription: String { folder }
    }

    static let foundation: Set<String> = ["Foundation", "Synchronization"]
    static let platform: Set<String> = foundation.union(["FoundationNetworking", "Dispatch", "Glibc", "Darwin", "Musl"])
    static let nio: Set<String> = ["NIOCore", "NIOPosix", "NIOHTTP1"]
    static let everyAdapter = Set(Tree.vendors.map { "\($0)Adapter" })
    static let kits: Set<String> = ["Experimentation", "AdapterKit", "ExperimentationTesting"]

    static let arrows: [Arrow] =
        [
            // Apple's network path monitor needs a dispatch queue.
            Arrow(folder: "Sources/Experimentation", allowed: foundation.union(["Network", "Dispatch"])),
            Arrow(
                folder: "Sources/AdapterKit",
                // On Linux, XMLParser is in FoundationXML.
                allowed: platform.union([
                    "Experimentation", "HTTPTypes", "CCurl", "FoundationXML", "Security", "UIKit",
                ])
            ),
            Arrow(
                folder: "Sources/ExperimentationSQLite",
                allowed: platform.union(["Experimentation", "GRDB", "GRDBSQLite", "SQLite3"])
            ),
            Arrow(
                folder: "Sources/ExperimentationTesting",
                allowed: platform.union(["Experimentation", "AdapterKit", "HTTPTypes"])
            ),
            Arrow(
                folder: "Sources/ExperimentationTelemetry",
                allowed: ["Experimentation", "Logging", "CoreMetrics", "Tracing", "Dispatch", "Synchronization"]
            ),
            Arrow(folder: "Sources/ExperimentationMigration", allowed: foundation.union(["Experimentation"])),
            Arrow(
                folder: "Sources/ExperimentationComposition",
                allowed: platform.union(["Experimentation", "AdapterKit", "HTTPTypes"])
            ),
            Arrow(
                folder: "Sources/xp",
                allowed: platform.union(kits).union([
                    "ExperimentationSQLite", "ConformanceKit", "ConformanceStages", "ComparisonKit", "MockVendors",
                    "ConformanceSubjects",
                    "ArgumentParser", "Yams", "VendorCatalog", "FlagManifest", "ExperimentationMigration",
                    "ExperimentationComposition", "OFREPServerSuite",
                ])
            ),
            Arrow(folder: "Sources/ExperimentationObservation", allowed: ["Experimentation", "Observation"]),
            Arrow(folder: "Sources/FlagManifest", allowed: ["Experimentation"]),
            Arrow(folder: "Sources/flag-keys", allowed: ["Foundation", "Experimentation", "FlagManifest"]),
            Arrow(folder: "Sources/GenerateFlagKeys", allowed: ["Foundation", "PackagePlugin"]),
            Arrow(
                folder: "Sources/VendorCatalog",
                allowed: foundation.union(["Experimentation", "AdapterKit", "ExperimentationComposition"])
                    .union(everyAdapter)
            ),
            Arrow(folder: "Conformance/ConformanceKit", allowed: foundation.union(["Experimentation"])),
            Arrow(
                folder: "Conformance/ComparisonKit",
                allowed: foundation.union(["Experimentation", "ConformanceKit"])
            ),
            Arrow(
                folder: "Conformance/OFREPServerSuite",
                allowed: foundation.union(["NIOCore", "NIOPosix"])
                    .union(["Experimentation", "AdapterKit", "ConformanceKit", "HTTPTypes"])
            ),
            Arrow(folder: "Conformance/MockVendors", allowed: platform.union(nio).union(["FoundationXML"])),
            Arrow(
                folder: "Conformance/Stages",
                allowed: platform.union([
                    "Experimentation", "AdapterKit", "ConformanceKit", "MockVendors", "HTTPTypes",
                ])
            ),
            Arrow(
                folder: "Conformance/Subjects",
                allowed: platform.union(kits).union(everyAdapter).union([
                    "ConformanceKit", "ConformanceStages", "ComparisonKit", "MockVendors", "HTTPTypes", "VendorCatalog",
                    "ExperimentationMigration",
                    "ExperimentationComposition",
                ])
            ),
            Arrow(
                folder: "Conformance/CompareVendors",
                allowed: platform.union(["ConformanceKit", "ConformanceSubjects", "ComparisonKit"])
            ),
        ]
        + Tree.vendors.map { vendor in
            Arrow(
                folder: "Adapters/\(vendor)",
                allowed: foundation.union(["Experimentation", "AdapterKit", "HTTPTypes", "UIKit"])
            )
        }
        + Tree.durableVendors.map { vendor in
            Arrow(
                folder: "Adapters/\(vendor)SQLite",
                allowed: ["Foundation", "Experimentation", "AdapterKit", "ExperimentationSQLite", "\(vendor)Adapter"]
            )
        }

    @Test("a target imports only what its row allows", arguments: arrows)
    func importsOnlyWhatIsAllowed(arrow: Arrow) {
        let sources = Tree.files(in: arrow.folder)
        #expect(!sources.isEmpty, "\(arrow.folder) has no sources; the table is out of date")
        let broken = sources.flatMap { source in
            source.imports.filter { !arrow.allowed.contains($0) }.map { "\(source.path) imports \($0)" }
        }
        #expect(broken == [])
    }

    @Test("every folder with sources has a row")
    func tableIsComplete() {
        let folders = ["Sources", "Conformance", "Adapters"].flatMap { top in
            Tree.folders(in: top).map { "\(top)/\($0)" }.filter { !Tree.files(in: $0).isEmpty }
        }
        #expect(Set(folders) == Set(Self.arrows.map(\.folder)))
    }

    @Test("a test uses @testable only for its own target")
    func testableIsOfOnesOwn() {
        let broken = Tree.folders(in: "Tests").flatMap { folder in
            Tree.files(in: "Tests/\(folder)").flatMap { source in
                source.code.split(separator: "\n")
                    .filter { $0.contains("@testable") }
                    .filter { !$0.hasSuffix("import \(folder.dropLast("Tests".count))") }
                    .map { "\(source.path): \($0)" }
            }
        }
        #expect(broken == [])
    }

    @Test("the import reader handles attributes, access levels, scopes and comments")
    func readsImports() {
        let source = Tree.Source(
            path: "x.swift",
            text: """
                import Foundation
                // import Commented
                @testable import Own
                internal import struct Deep.Thing
                /* import Blocked
                import BlockedToo */
                let text = "import Quoted"
                """
        )
        #expect(source.imports == ["Foundation", "Own", "Deep"])
    }
}
