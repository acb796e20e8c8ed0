import Experimentation

extension ConformanceCase {
    /// What the vendor in the shadow costs, and what a comparison reports.
    static let movingShadows: [ConformanceCase] = [
        moves("a-slow-shadow", 23, "A refresh doesn't wait for the shadow vendor, which receives no events") {
            probe in
            let move = try probe.decidingMove()
            try await probe.start(MovePlan(.shadow))
            try await probe.refuse(at: move.new, WorldFault(.delay(milliseconds: 2_500), on: .decisions, times: nil))
            let visits = try await probe.visits(of: Probe.people(0..<1), reading: 2)
            probe.expect(["grey", "green"].contains(visits[0].color), "what the user sees: \(visits[0].color)")
            probe.expect(try await probe.sight().compared, equals: 0, "flags compared when the user has an answer")
            try await probe.eventually("the comparison ends", within: .seconds(20)) {
                try await probe.sight().compared == probe.world.flags.count
            }
            try await probe.deliverEverywhere()
            probe.expect(try await move.new.received().map(\.type), equals: [], "what \(move.new.name) is told")
        },
        moves(
            "a-hung-shadow",
            23,
            "While the shadow hangs, no user waits: comparisons are late, or dropped and counted"
        ) {
            probe in
            let move = try probe.decidingMove()
            var plan = MovePlan(.shadow)
            plan.waitingShadows = 2
            // Long compared with ten refreshes, so that the line is full before its first shadow is given up.
            plan.shadowDeadline = .seconds(2)
            try await probe.start(plan)
            try await probe.refuse(at: move.new, WorldFault(.stall, on: .decisions, times: nil))
            let users = Probe.people(0..<10)
            let colors = try await probe.timely(within: .milliseconds(500), "ten refreshes") {
                try await probe.visits(of: users).map(\.color)
            }
            probe.expect(colors.allSatisfy { $0 != "?" }, "what they see: \(colors)")
            probe.expect(try await probe.sight().dropped > 0, "no comparison was dropped, so a user waited")
            try await probe.eventually("a comparison is late", within: .seconds(20)) {
                try await probe.sight().mismatches.contains { $0.kind == "late" && $0.new.code == .timeout }
            }
            try await move.new.stage.clearFaults()
            try await probe.deliverEverywhere()
            probe.expect(try await move.new.received().map(\.type), equals: [], "what \(move.new.name) is told")
        },
        moves(
            "contents-of-a-mismatch",
            23,
            "A mismatch has its class and both answers with their configurations, but no user's id"
        ) {
            probe in
            let move = try probe.decidingMove()
            try await move.new.stage.change(
                to: probe.world.changing { $0.flags.append(World.Flag("motto", "Good day!")) }
            )
            try await move.old.stage.change(
                to: probe.world.changing { $0.flags.append(World.Flag("motto", "Hello!")) }
            )
            try await probe.start(MovePlan(.shadow))
            _ = try await probe.visits(of: Probe.people(7..<8))
            try await probe.eventually("the mismatch is confirmed", within: .seconds(8)) {
                try await probe.sight().mismatches.contains { $0.key == "motto" }
            }
            let mismatches = try await probe.sight().mismatches.filter { $0.key == "motto" }
            probe.expect(mismatches.count, equals: 1, "how often it is confirmed")
            let mismatch = try probe.unwrap(mismatches.first, "the mismatch")
            let what = [mismatch.key, mismatch.type, mismatch.kind]
            probe.expect(what, equals: ["motto", "string", "value"], "what differs")
            probe.expect(mismatch.leader, equals: move.old.name, "who answered")
            probe.expect([mismatch.old.value, mismatch.new.value], equals: ["Hello!", "Good day!"], "both values")
            for (part, answer) in [(move.old, mismatch.old), (move.new, mismatch.new)] {
                probe.expect(answer.latency > .zero, "\(part.name)'s latency")
                probe.expect(answer.reason != nil && answer.code == nil, "\(part.name)'s reason and code")
                let isPublished = part.subject.capabilities.contains(.localEvaluation)
                probe.expect(answer.version != nil, equals: isPublished, "\(part.name)'s version is known")
                probe.expect(answer.age != nil, equals: isPublished, "the age of \(part.name)'s rules is known")
            }
            probe.expect(!mismatch.user.isEmpty && !mismatch.user.contains("visit-7"), "the user: \(mismatch.user)")
        },
    ]
}
