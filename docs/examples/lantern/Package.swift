// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "lantern",
    platforms: [.iOS(.v18), .macOS(.v15)],
    dependencies: [.package(url: "https://github.com/<owner>/swift-experimentation", from: "0.1.0")],
    targets: [
        .testTarget(
            name: "LanternTests",
            dependencies: [
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ConformanceKit", package: "swift-experimentation"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
