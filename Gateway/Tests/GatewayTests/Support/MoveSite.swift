import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import MockVendors
import PostgresServers
import Testing

/// A tenant in a move from Flagship to Sigma: the mocks of both, and the files that name them.
struct MoveSite {
    let folder: URL
    /// The mock of the vendor that is left, and of the one that is moved to.
    let mocks: [MockServer]
    /// The vendors that the mock servers serve.
    let vendors: [any MockVendor]
    private let plan: URL

    /// The file of the gateway's configuration.
    var gateway: String { folder.appendingPathComponent("gateway.json").path }

    /// Makes a configuration that no instance uses yet.
    ///
    /// - Parameters:
    ///   - store: The tenant's store.
    ///   - interval: How many seconds lie between two questions for Flagship's rules; `nil` for its own default.
    ///   - stage: The stage to begin in.
    /// - Throws: An error if there is none.
    init(store: FlagValue = "shop.sqlite", interval: Double? = nil, stage: String = "off") async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        plan = folder.appendingPathComponent("plan.json")
        // The new vendor has another value for one flag.
        var other = World.shop
        for place in other.flags.indices where other.flags[place].key == "welcome" {
            other.flags[place] = World.Flag("welcome", "Hi!")
        }
        var mocks: [MockServer] = []
        var vendors: [any MockVendor] = []
        for (name, world, mode, key) in [
            ("flagship", World.shop, "bucketing" as FlagValue?, "pollingInterval" as String?),
            ("sigma", other, nil, nil),
        ] {
            let (vendor, _) = try await #require(Vendor.named(name)).mock(with: world)
            let mock = MockServer(vendor)
            try await mock.start()
            mocks.append(mock)
            vendors.append(vendor)
            var settings = vendor.credentials.mapValues { FlagValue.string($0) }
            settings["vendor"] = .string(name)
            settings["mode"] = mode
            if let key { settings[key] = interval.map { .double($0) } }
            settings["endpoints"] = .object(mock.endpoints.mapValues { .string($0) })
            try JSONEncoder().encode(FlagValue.object(settings))
                .write(to: folder.appendingPathComponent("\(name).json"))
        }
        (self.mocks, self.vendors) = (mocks, vendors)
        let digest: FlagValue = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        let configuration: FlagValue = [
            "http": ["port": 0], "operators": ["tokens": [digest]],
            "tenants": [
                "shop": ["vendor": "plan.json", "store": store, "consent": "granted", "tokens": [digest]]
            ],
        ]
        try JSONEncoder().encode(configuration).write(to: folder.appendingPathComponent("gateway.json"))
        try setStage(stage)
    }

    func setStage(_ stage: String, share: Double = 0) throws {
        try Data(#"{"from":"flagship.json","to":"sigma.json","stage":"\#(stage)","share":\#(share)}"#.utf8)
            .write(to: plan)
    }

    /// Starts an instance.
    func instance() async throws -> Instance { try Instance(try await Child(["--config", gateway])) }

    /// When a vendor was asked for its rules.
    func fetches(of place: Int) -> [Double] {
        mocks[place].journal.filter { ["bucketing", "config"].contains($0.operation) }.map(\.received)
    }

    func end() async {
        for mock in mocks { await mock.stop() }
        try? FileManager.default.removeItem(at: folder)
    }
}
