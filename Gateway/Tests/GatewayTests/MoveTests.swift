import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import MockVendors
import Testing

/// A tenant in a move, by the program itself in front of two mock vendors.
@Suite("A tenant that moves", .serialized)
struct MoveTests {
    private static let path = "/ofrep/v1/evaluate/flags"

    /// The mocks, and the files that name them.
    private struct Files {
        let folder: URL
        let mocks: [MockServer]
        private let plan: URL

        init() async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            plan = folder.appendingPathComponent("plan.json")
            // The new vendor says something else of one flag.
            var other = World.shop
            for place in other.flags.indices where other.flags[place].key == "welcome" {
                other.flags[place] = World.Flag("welcome", "Hi!")
            }
            var mocks: [MockServer] = []
            for (name, world, more) in [
                ("flagship", World.shop, ["mode": "bucketing"] as [String: FlagValue]), ("sigma", other, [:]),
            ] {
                let (vendor, _) = try await #require(Vendor.named(name)).mock(with: world)
                let mock = MockServer(vendor)
                try await mock.start()
                mocks.append(mock)
                var settings = more.merging(vendor.credentials.mapValues { .string($0) }) { $1 }
                settings["vendor"] = .string(name)
                settings["endpoints"] = .object(mock.endpoints.mapValues { .string($0) })
                try JSONEncoder().encode(FlagValue.object(settings))
                    .write(to: folder.appendingPathComponent("\(name).json"))
            }
            self.mocks = mocks
            let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
            let gateway = #"""
                {"http":{"port":0},"operators":{"tokens":["\#(digest)"]},
                 "tenants":{"shop":{"vendor":"plan.json","store":"shop.sqlite","consent":"granted","tokens":["\#(digest)"]}}}
                """#
            try Data(gateway.utf8).write(to: folder.appendingPathComponent("gateway.json"))
            try setStage("off")
        }

        func setStage(_ stage: String, share: Double = 0) throws {
            try Data(#"{"from":"flagship.json","to":"sigma.json","stage":"\#(stage)","share":\#(share)}"#.utf8)
                .write(to: plan)
        }

        func end() async {
            for mock in mocks { await mock.stop() }
            try? FileManager.default.removeItem(at: folder)
        }
    }

    /// What the console says of the tenant's move.
    private static func move(_ instance: Instance) async throws -> [String: FlagValue] {
        let state = try await instance.wire.request("GET", "/console/state", ["Authorization": "Bearer test"])
        let tenants = try JSON.parse(state.body).objectValue?["tenants"]?.arrayValue
        return try #require(tenants?.first?.objectValue?["move"]?.objectValue, "\(state.body)")
    }

    @Test("the stage is gone to on SIGHUP, mismatches are on the console, and what would break a promise is held")
    func stages() async throws {
        let files = try await Files()
        let child = try await Child(["--config", files.folder.appendingPathComponent("gateway.json").path])
        let instance = try Instance(child)
        let first = try await instance.flag("welcome", of: "ada")
        #expect(first.status == 200)
        #expect(first.body.contains(#""value":"Hello!""#), "\(first.body)")
        #expect(try await Self.move(instance)["stage"] == "off")

        try files.setStage("shadow")
        child.hangUp()
        try await eventually("the move is in the shadow") { try await Self.move(instance)["stage"] == "shadow" }
        try await eventually("a mismatch is confirmed") {
            // The reader gets the old vendor's word, whatever the other says.
            let answer = try await instance.flag("welcome", of: "user-\(Int.random(in: 0..<1_000))")
            #expect(answer.body.contains(#""value":"Hello!""#), "\(answer.body)")
            return try await Self.move(instance)["mismatches"]?.objectValue?["value"]?.intValue ?? 0 > 0
        }
        let seen = try await Self.move(instance)
        let recent = try #require(seen["recent"]?.arrayValue?.first?.objectValue)
        #expect(recent["flag"] == "welcome")
        #expect(recent["old"] == #""Hello!""#)
        #expect(recent["new"] == #""Hi!""#)
        #expect(seen["changed"] == 0)
        let metrics = try await instance.wire.request("GET", "/metrics", ["Authorization": "Bearer test"]).body
        #expect(metrics.contains(#"xp_gateway_move_stage{tenant="shop",stage="shadow"} 1"#))
        #expect(metrics.contains(#"xp_gateway_move_mismatches_total{tenant="shop",class="value"} "#))

        let goal = try await instance.goal(1)
        #expect(goal.body.contains(#""status":"accepted""#), "\(goal.body)")
        // The new vendor has no word for events, so the old one goes on being told of them.
        try await files.mocks[0].wait(within: .seconds(90)) { Site.goals(in: $0) == ["goal-1-0": 1] }

        // The experiment isn't mapped, so going live would break a promise: it is held, and nothing changes.
        try files.setStage("live", share: 0.5)
        child.hangUp()
        try await eventually("the move is held") { try await Self.move(instance)["held"]?.arrayValue?.isEmpty == false }
        #expect(try await Self.move(instance)["stage"] == "shadow")
        #expect(try await instance.flag("welcome", of: "ada").status == 200)
        #expect(child.end() == 0)
        await files.end()
    }
}
