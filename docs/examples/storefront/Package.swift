// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "storefront",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-experimentation", path: "../../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    ],
    targets: [
        .executableTarget(
            name: "storefront",
            dependencies: [
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "VendorCatalog", package: "swift-experimentation"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
