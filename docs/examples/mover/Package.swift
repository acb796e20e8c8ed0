// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "mover",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-experimentation", path: "../../..")],
    targets: [
        .executableTarget(
            name: "mover",
            dependencies: [
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationMigration", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "VendorCatalog", package: "swift-experimentation"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
