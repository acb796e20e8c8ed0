import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import GatewayWaiting
import MockVendors
import Testing

/// A tenant in a move, by the program itself in front of two mock vendors.
@Suite("A tenant in a move", .serialized)
struct MoveTests {
    /// What the console says of the tenant's move.
    private static func move(_ instance: Instance) async throws -> [String: FlagValue] {
        let state = try await instance.wire.request("GET", "/console/state", ["Authorization": "Bearer test"])
        let tenants = try JSON.parse(state.body).objectValue?["tenants"]?.arrayValue
        return try #require(tenants?.first?.objectValue?["move"]?.objectValue, "\(state.body)")
    }

    @Test(
        "SIGHUP moves to the plan's stage, the console shows mismatches, and a stage that would break a promise is held"
    )
    func stages() async throws {
        let files = try await MoveSite()
        let child = try await Child(["--config", files.gateway])
        let instance = try Instance(child)
        let first = try await instance.flag("welcome", of: "ada")
        #expect(first.status == 200)
        #expect(first.body.contains(#""value":"Hello!""#), "\(first.body)")
        #expect(try await Self.move(instance)["stage"] == "off")

        try files.setStage("shadow")
        child.hangUp()
        try await eventually("the move is in the shadow") { try await Self.move(instance)["stage"] == "shadow" }
        try await eventually("a mismatch is confirmed") {
            // The reader gets the old vendor's value, whatever the other's is.
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
        #expect(metrics.contains(#"xp_gateway_rules_age_seconds{tenant="shop",side="old"} "#))
        #expect(metrics.contains(#"xp_gateway_rules_age_seconds{tenant="shop",side="new"} "#))
        #expect(seen["ratios"]?.arrayValue != nil)
        #expect(metrics.contains(#"xp_gateway_move_mismatches_total{tenant="shop",class="value"} "#))

        let goal = try await instance.goal(1)
        #expect(goal.body.contains(#""status":"accepted""#), "\(goal.body)")
        // The new vendor supports no events, so the old one continues to get them.
        try await files.mocks[0].wait(within: .seconds(90)) { Site.goals(in: $0) == ["goal-1-0": 1] }

        // The experiment isn't mapped, so going live would break a promise: it is held, and nothing changes.
        try files.setStage("live", share: 0.5)
        child.hangUp()
        try await eventually("the move is held") { try await Self.move(instance)["held"]?.arrayValue?.isEmpty == false }
        #expect(try await Self.move(instance)["stage"] == "shadow")
        #expect(try await instance.flag("welcome", of: "ada").status == 200)
        #expect(try await child.end() == 0)
        await files.end()
    }

    @Test("listeners are notified when the move changes its stage, as another vendor may then decide")
    func told() async throws {
        let files = try await MoveSite()
        let child = try await Child(["--config", files.gateway])
        let instance = try Instance(child)
        let question = #"{"context":{"targetingKey":"ada"}}"#
        let bulk = try await instance.wire.post("/ofrep/v1/evaluate/flags", question, token: Site.token)
        let path = try #require(bulk.body.firstMatch(of: /"requestUri":"([^"]+)"/)?.output.1)
        let text = try await instance.wire.talk("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") { text in
            guard text.contains("says when to ask again") else { return false }
            guard !text.contains("refetchEvaluation") else { return true }
            try files.setStage("shadow")
            child.hangUp()
            try await eventually("the move is in the shadow") { try await Self.move(instance)["stage"] == "shadow" }
            return false
        }
        #expect(text.contains("refetchEvaluation"))
        #expect(try await child.end() == 0)
        await files.end()
    }
}
