// swift-tools-version: 6.2
import PackageDescription

// The vendors, once: everything below that exists per vendor is derived from this list.
let vendors = ["Flagship", "Sigma", "Engage", "Evergage", "OFREP"]

// Those whose own words have a durable default, in a product beside the adapter: an adapter knows no store.
let durableVendors = ["Flagship", "Sigma", "Engage", "Evergage"]

// What each setting buys, with its proposal:
let settings: [SwiftSetting] = [
    // `any` is written wherever a value is boxed: SE-0335.
    .enableUpcomingFeature("ExistentialAny"),
    // A file names the modules whose members it uses: SE-0444.
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "swift-experimentation",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "Experimentation", targets: ["Experimentation"]),
        .library(name: "AdapterKit", targets: ["AdapterKit"]),
        .library(name: "ExperimentationSQLite", targets: ["ExperimentationSQLite"]),
        .library(name: "ExperimentationComposition", targets: ["ExperimentationComposition"]),
        .library(name: "ExperimentationTesting", targets: ["ExperimentationTesting"]),
        .library(name: "ExperimentationTelemetry", targets: ["ExperimentationTelemetry"]),
        .library(name: "ExperimentationMigration", targets: ["ExperimentationMigration"]),
        .library(name: "VendorCatalog", targets: ["VendorCatalog"]),
        .library(name: "ConformanceKit", targets: ["ConformanceKit"]),
        .library(name: "ComparisonKit", targets: ["ComparisonKit"]),
        .library(name: "MockVendors", targets: ["MockVendors"]),
        .library(name: "ExperimentationObservation", targets: ["ExperimentationObservation"]),
        .library(name: "FlagManifest", targets: ["FlagManifest"]),
        .library(name: "ConformanceStages", targets: ["ConformanceStages"]),
        .library(name: "ConformanceSubjects", targets: ["ConformanceSubjects"]),
        .library(name: "OFREPServerSuite", targets: ["OFREPServerSuite"]),
        .executable(name: "xp", targets: ["xp"]),
        .plugin(name: "GenerateFlagKeys", targets: ["GenerateFlagKeys"]),
    ]
        + vendors.map { .library(name: "\($0)Adapter", targets: ["\($0)Adapter"]) }
        + durableVendors.map { .library(name: "\($0)SQLite", targets: ["\($0)SQLite"]) },
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // MARK: What an application imports
        .target(name: "Experimentation"),
        .systemLibrary(
            name: "CCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .target(
            name: "AdapterKit",
            dependencies: [
                "Experimentation",
                .target(name: "CCurl", condition: .when(platforms: [.linux])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "ExperimentationSQLite",
            dependencies: [
                "Experimentation",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        .target(
            name: "ExperimentationComposition",
            dependencies: [
                "Experimentation", "AdapterKit", .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(name: "ExperimentationTesting", dependencies: ["Experimentation", "AdapterKit"]),
        .target(name: "ExperimentationMigration", dependencies: ["Experimentation"]),
        .target(
            name: "ExperimentationTelemetry",
            dependencies: [
                "Experimentation",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        .target(
            name: "VendorCatalog",
            dependencies: ["Experimentation", "AdapterKit", "ExperimentationComposition"]
                + vendors.map { .target(name: "\($0)Adapter") }
        ),

        .target(name: "ExperimentationObservation", dependencies: ["Experimentation"]),

        // MARK: Typed flag keys
        .target(name: "FlagManifest", dependencies: ["Experimentation"]),
        .executableTarget(name: "flag-keys", dependencies: ["Experimentation", "FlagManifest"]),
        .plugin(
            name: "GenerateFlagKeys",
            capability: .buildTool(),
            dependencies: ["flag-keys"],
            path: "Sources/GenerateFlagKeys"
        ),

        // MARK: Conformance
        .target(
            name: "ConformanceKit",
            dependencies: ["Experimentation"],
            path: "Conformance/ConformanceKit"
        ),
        .target(
            name: "ComparisonKit",
            dependencies: ["Experimentation", "ConformanceKit"],
            path: "Conformance/ComparisonKit"
        ),
        .target(
            name: "MockVendors",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Conformance/MockVendors"
        ),
        .target(
            name: "ConformanceStages",
            dependencies: [
                "Experimentation", "AdapterKit", "ConformanceKit", "MockVendors",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Conformance/Stages"
        ),
        .target(
            name: "ConformanceSubjects",
            dependencies: [
                "Experimentation", "AdapterKit", "ExperimentationComposition", "ExperimentationTesting",
                "ConformanceKit", "ConformanceStages", "ComparisonKit", "MockVendors", "VendorCatalog",
                "ExperimentationMigration",
            ] + vendors.map { .target(name: "\($0)Adapter") },
            path: "Conformance/Subjects"
        ),

        .target(
            name: "OFREPServerSuite",
            dependencies: [
                "Experimentation", "AdapterKit", "ConformanceKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Conformance/OFREPServerSuite"
        ),

        .executableTarget(
            name: "compare-vendors",
            dependencies: ["ComparisonKit", "ConformanceKit", "ConformanceSubjects"],
            path: "Conformance/CompareVendors"
        ),

        // MARK: The command line
        .executableTarget(
            name: "xp",
            dependencies: [
                "Experimentation", "AdapterKit", "ExperimentationSQLite", "ConformanceKit", "ComparisonKit",
                "ConformanceStages", "MockVendors", "ConformanceSubjects", "VendorCatalog", "FlagManifest",
                "ExperimentationMigration", "ExperimentationComposition", "OFREPServerSuite",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Yams", package: "Yams"),
            ]
        ),

        // MARK: Tests
        .target(name: "ChildProcesses", path: "Tests/ChildProcesses"),
        .target(name: "Waiting", path: "Tests/Waiting"),
        .testTarget(
            name: "ExperimentationTests",
            dependencies: ["Experimentation", "ExperimentationTesting"],
            exclude: ["OpenFeature/gherkin"]
        ),
        .testTarget(
            name: "AdapterKitTests",
            dependencies: ["AdapterKit", "ExperimentationTesting", "MockVendors", "ChildProcesses"]
        ),
        .testTarget(
            name: "ExperimentationSQLiteTests",
            dependencies: [
                "ConformanceKit", "ExperimentationSQLite", "ExperimentationTesting", "ChildProcesses",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Fixtures"]
        ),
        .testTarget(
            name: "ExperimentationCompositionTests",
            dependencies: [
                "ExperimentationComposition", "ExperimentationTesting", "ConformanceKit", "ConformanceSubjects",
                "MockVendors", "VendorCatalog", "ChildProcesses",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + vendors.map { .target(name: "\($0)Adapter") }
        ),
        .testTarget(
            name: "ExperimentationTestingTests",
            dependencies: ["ExperimentationTesting"]
        ),
        .testTarget(
            name: "ExperimentationObservationTests",
            dependencies: ["Experimentation", "ExperimentationObservation", "ExperimentationTesting"]
        ),
        .testTarget(
            name: "FlagManifestTests",
            dependencies: ["Experimentation", "ExperimentationTesting", "FlagManifest", "ChildProcesses"],
            exclude: ["Golden"],
            plugins: ["GenerateFlagKeys"]
        ),
        .testTarget(
            name: "ExperimentationTelemetryTests",
            dependencies: [
                "ExperimentationTelemetry", "ExperimentationTesting", "ExperimentationSQLite", "AdapterKit",
                "MockVendors", "FlagshipAdapter", "EngageAdapter", "EvergageAdapter", "SigmaAdapter",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["Fixtures"]
        ),
        .testTarget(
            name: "ExperimentationMigrationTests",
            dependencies: [
                "ExperimentationMigration", "Experimentation", "ExperimentationComposition", "ExperimentationSQLite",
                "ExperimentationTesting",
            ],
            exclude: ["Fixtures"]
        ),
        .testTarget(name: "MockVendorsTests", dependencies: ["MockVendors"]),
        .testTarget(
            name: "OFREPServerSuiteTests",
            dependencies: ["OFREPServerSuite", "MockVendors", "Experimentation", "AdapterKit"]
        ),
        .testTarget(
            name: "ConformanceKitTests",
            dependencies: [
                "AdapterKit", "ChildProcesses", "ConformanceKit", "ConformanceStages", "ConformanceSubjects",
                "ExperimentationMigration", "ExperimentationTesting", "FlagshipAdapter", "MockVendors",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["Remote/broken_sdk.py"]
        ),
        .testTarget(
            name: "ComparisonKitTests",
            dependencies: ["ComparisonKit", "ConformanceKit", "ConformanceSubjects"]
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: ["xp", "compare-vendors", "ChildProcesses", .product(name: "GRDB", package: "GRDB.swift")]
        ),
        .testTarget(
            name: "PromiseTests",
            dependencies: [
                "Experimentation", "AdapterKit", "ExperimentationSQLite", "ExperimentationTesting", "VendorCatalog",
                "MockVendors", "ConformanceSubjects", "ConformanceKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ] + vendors.map { .target(name: "\($0)Adapter") },
            exclude: ["Fixtures"]
        ),
        // Shows the thread sanitizer what Swift's locks do; nothing else may depend on it.
        .target(name: "RaceLocks", path: "Tests/RaceLocks"),
        .executableTarget(
            name: "race-suite",
            dependencies: [
                "Experimentation", "AdapterKit", "ExperimentationSQLite", "ExperimentationTesting", "RaceLocks",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/RaceSuite"
        ),
        .testTarget(name: "LayoutTests", dependencies: ["ChildProcesses"]),
    ]
        + vendors.flatMap { vendor -> [Target] in
            [
                .target(
                    name: "\(vendor)Adapter",
                    dependencies: [
                        "Experimentation", "AdapterKit",
                        .product(name: "HTTPTypes", package: "swift-http-types"),
                    ],
                    path: "Adapters/\(vendor)",
                    exclude: ["README.md"]
                ),
                .testTarget(
                    name: "\(vendor)AdapterTests",
                    dependencies: [
                        .target(name: "\(vendor)Adapter"),
                        "ExperimentationTesting", "ExperimentationSQLite", "MockVendors", "ConformanceKit",
                        "ConformanceSubjects",
                    ] + (durableVendors.contains(vendor) ? [.target(name: "\(vendor)SQLite")] : [])
                        // Files as the original SDKs left them.
                        + (["Engage", "Flagship"].contains(vendor)
                            ? [.product(name: "GRDB", package: "GRDB.swift")] : [])
                ),
            ]
        }
        + durableVendors.map { vendor in
            .target(
                name: "\(vendor)SQLite",
                dependencies: [
                    "Experimentation", "AdapterKit", "ExperimentationSQLite", .target(name: "\(vendor)Adapter"),
                ],
                path: "Adapters/\(vendor)SQLite"
            )
        },
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type == .test { target.dependencies.append("Waiting") }

// A third of the time that tests take to build and run is for tools around the libraries. So `make test` and
// `make tools-test` each build one kind only; `swift test` runs all.
let testsOfTools = [
    "CommandLineTests", "ComparisonKitTests", "ConformanceKitTests", "FlagManifestTests", "MockVendorsTests",
    "OFREPServerSuiteTests",
]
switch Context.environment["TESTS"] {
case "libraries": package.targets.removeAll { testsOfTools.contains($0.name) }
case "tools": package.targets.removeAll { $0.type == .test && !testsOfTools.contains($0.name) }
default: break
}

for target in package.targets where ![.system, .plugin].contains(target.type) {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
