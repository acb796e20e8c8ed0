// swift-tools-version: 6.2
import PackageDescription

// A package of its own: without `--sanitize fuzzer` the program has no `main`, and the library's fuzz targets needn't
// resolve what the gateway needs.
let package = Package(
    name: "GatewayFuzz",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "fuzz-bodies", targets: ["fuzz-bodies"])],
    dependencies: [.package(name: "Gateway", path: ".."), .package(name: "swift-experimentation", path: "../..")],
    targets: [
        .executableTarget(
            name: "fuzz-bodies",
            dependencies: [
                .product(name: "GatewayBodies", package: "Gateway"),
                .product(name: "Experimentation", package: "swift-experimentation"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
