// swift-tools-version: 6.2
import PackageDescription

// A package of its own: without `--sanitize fuzzer` these programs have no `main`, so a plain build must not meet them.
let kit: Target.Dependency = .product(name: "AdapterKit", package: "swift-experimentation")
let core: Target.Dependency = .product(name: "Experimentation", package: "swift-experimentation")
let conformance: [Target.Dependency] = ["ConformanceKit", "ComparisonKit"].map {
    .product(name: $0, package: "swift-experimentation")
}
let vendors = ["Flagship", "Sigma", "Engage", "Evergage", "OFREP"]

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    products: ["json", "xml", "dates", "settings", "kept", "envelopes", "lines", "documents", "yaml", "lists"].map {
        .executable(name: "fuzz-\($0)", targets: ["fuzz-\($0)"])
    }
        + vendors.map { .executable(name: "fuzz-\($0.lowercased())", targets: ["fuzz-\($0.lowercased())"]) },
    dependencies: [
        .package(name: "swift-experimentation", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // Plays a vendor's answer to its adapter.
        .target(
            name: "FuzzVendor",
            dependencies: [kit, core, .product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        .executableTarget(name: "fuzz-json", dependencies: [kit, core]),
        .executableTarget(name: "fuzz-xml", dependencies: [kit, core]),
        .executableTarget(name: "fuzz-dates", dependencies: [kit, core]),
        .executableTarget(name: "fuzz-settings", dependencies: [kit, core]),
        .executableTarget(name: "fuzz-kept", dependencies: [core]),
        .executableTarget(name: "fuzz-envelopes", dependencies: [core]),
        .executableTarget(name: "fuzz-lines", dependencies: [kit, core] + conformance),
        .executableTarget(name: "fuzz-documents", dependencies: [core] + conformance),
        .executableTarget(
            name: "fuzz-yaml",
            dependencies: [core, .product(name: "Yams", package: "Yams")] + conformance
        ),
        .executableTarget(
            name: "fuzz-lists",
            dependencies: [core, .product(name: "EngageAdapter", package: "swift-experimentation")]
        ),
    ]
        + vendors.map { vendor in
            .executableTarget(
                name: "fuzz-\(vendor.lowercased())",
                dependencies: [
                    kit, core, "FuzzVendor", .product(name: "\(vendor)Adapter", package: "swift-experimentation"),
                ]
            )
        },
    swiftLanguageModes: [.v6]
)
