// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of the library don't resolve what its measurements need.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-experimentation", path: ".."),
        // The sums that Sigma's figures are held against.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        // Counts allocations by standing in for malloc.
        .target(name: "BenchmarkCounting"),
        // A server in a process of its own.
        .target(name: "BenchmarkCollector"),
        .target(name: "BenchmarkHarness", dependencies: ["BenchmarkCollector", "BenchmarkCounting"]),
        // What the engine is held against.
        .target(name: "BareHTTP", linkerSettings: [.linkedLibrary("curl")]),
        .executableTarget(
            name: "bench-transport",
            dependencies: [
                "BareHTTP", "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .executableTarget(
            name: "bench-delivery",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .executableTarget(
            name: "bench-composition",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationComposition", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-migration",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationMigration", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-reading",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-telemetry",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTelemetry", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(
            name: "bench-manifest",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "FlagManifest", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-sessions",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-parsing",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-sigma",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "SigmaAdapter", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-flagship",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "FlagshipAdapter", package: "swift-experimentation"),
                .product(name: "MockVendors", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-agreement",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "ComparisonKit", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "FlagshipAdapter", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "SigmaAdapter", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-engage",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "EngageAdapter", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "MockVendors", package: "swift-experimentation"),
            ]
        ),
        .executableTarget(
            name: "bench-evergage",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "EvergageAdapter", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "MockVendors", package: "swift-experimentation"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
