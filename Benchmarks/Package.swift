// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library resolves what its measurements need.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-experimentation", path: "..")],
    targets: [
        // Counts allocations by standing in for malloc.
        .target(name: "BenchmarkCounting"),
        .target(name: "BenchmarkHarness", dependencies: ["BenchmarkCounting"]),
        .executableTarget(
            name: "bench-reading",
            dependencies: [
                "BenchmarkHarness",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
