// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library don't resolve what a server needs. What each dependency costs, and
// why it is there, is in docs/decisions/0200-gateway.md.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Gateway",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "xp-gateway", targets: ["xp-gateway"]),
        // For a program of one's own, which installs a tracer or a log handler first.
        .library(name: "GatewayServer", targets: ["GatewayServer"]),
        // For the fuzzer.
        .library(name: "GatewayBodies", targets: ["GatewayBodies"]),
        // Here, so that the library alone doesn't need libpq: docs/decisions/0220-postgresql.md.
        .library(name: "ExperimentationPostgres", targets: ["ExperimentationPostgres"]),
    ],
    dependencies: [
        .package(name: "swift-experimentation", path: ".."),
        // Without its traits it brings neither swift-configuration's file readers nor all of Foundation.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        // What Swift's module of the C library leaves out: `malloc_trim`.
        .systemLibrary(name: "CMalloc"),
        .target(
            name: "ExperimentationPostgres",
            dependencies: ["CPostgres", .product(name: "Experimentation", package: "swift-experimentation")],
            swiftSettings: settings
        ),
        // What bodies of requests say, apart from the server, so that it can be fuzzed alone.
        .target(
            name: "GatewayBodies",
            dependencies: [
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "AdapterKit", package: "swift-experimentation"),
                // Reads users and events as documents have them.
                .product(name: "ConformanceKit", package: "swift-experimentation"),
                .product(name: "ComparisonKit", package: "swift-experimentation"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "GatewayServer",
            dependencies: [
                "CMalloc", "GatewayBodies", "ExperimentationPostgres",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "ExperimentationSQLite", package: "swift-experimentation"),
                .product(name: "ExperimentationMigration", package: "swift-experimentation"),
                .product(name: "VendorCatalog", package: "swift-experimentation"),
                .product(name: "FlagManifest", package: "swift-experimentation"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            // Links into docs/schemas: what is served is what is documented.
            resources: [
                .embedInCode("Schemas/event.schema.json"), .embedInCode("Schemas/gateway-events.schema.json"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "xp-gateway",
            dependencies: [
                "GatewayServer",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTelemetry", package: "swift-experimentation"),
                .product(name: "ConformanceSubjects", package: "swift-experimentation"),
                .product(name: "ConformanceKit", package: "swift-experimentation"),
                .product(name: "MockVendors", package: "swift-experimentation"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "bench-postgres",
            dependencies: [
                "ExperimentationPostgres", "PostgresServers",
                .product(name: "Experimentation", package: "swift-experimentation"),
            ],
            swiftSettings: settings
        ),
        .target(name: "GatewayWaiting", path: "Tests/Waiting", swiftSettings: settings),
        .target(name: "PostgresServers", path: "Tests/PostgresServers", swiftSettings: settings),
        .testTarget(
            name: "ExperimentationPostgresTests",
            dependencies: [
                "ExperimentationPostgres", "PostgresServers", "GatewayWaiting",
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
                .product(name: "ConformanceKit", package: "swift-experimentation"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "GatewayServer", "GatewayBodies", "xp-gateway", "ExperimentationPostgres", "PostgresServers",
                "GatewayWaiting",
                .product(name: "ConformanceSubjects", package: "swift-experimentation"),
                .product(name: "MockVendors", package: "swift-experimentation"),
                .product(name: "Experimentation", package: "swift-experimentation"),
                .product(name: "AdapterKit", package: "swift-experimentation"),
                .product(name: "ExperimentationTesting", package: "swift-experimentation"),
                .product(name: "ExperimentationMigration", package: "swift-experimentation"),
                .product(name: "FlagManifest", package: "swift-experimentation"),
                .product(name: "ConformanceKit", package: "swift-experimentation"),
                .product(name: "ConformanceSubjects", package: "swift-experimentation"),
                .product(name: "OFREPAdapter", package: "swift-experimentation"),
                .product(name: "OFREPServerSuite", package: "swift-experimentation"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
