import Experimentation

extension ConformanceCase {
    /// The cases for subjects that move users from one vendor to another.
    ///
    /// They aren't among ``all``, because a vendor without moves has nothing to show there. Each case chooses the
    /// stages that it is about, whichever the subject's stage is.
    public static let moving: [ConformanceCase] = movingUsers + movingEvents + movingShadows

    /// Whether it is about a move.
    var isAboutMoving: Bool { name.hasPrefix("migration/") }

    private static let movingUsers: [ConformanceCase] = [
        moves("a-raised-share", 22, "Raising the share moves only users without a side") { probe in
            _ = try await probe.carryingMove()
            let move = try await probe.start(MovePlan(.live, share: 0))
            let users = Probe.people(0..<10)
            let before = try await probe.visits(of: users)
            probe.expect(Set(before.map(\.vendor)), equals: [move.old.name], "who answers with a share of nothing")
            probe.expect(Set(before.map(\.color)), equals: ["grey", "green"], "what they see")
            try await probe.go(to: .live, share: 1)
            probe.expect(try await probe.visits(of: users), equals: before, "the same users later")
            let newcomer = try await probe.visits(of: Probe.people(10..<11))
            probe.expect(newcomer.map(\.vendor), equals: [move.new.name], "who answers a newcomer")
        },
        moves("a-lowered-share", 22, "Lowering the share moves no users") { probe in
            _ = try await probe.carryingMove()
            let move = try await probe.start(MovePlan(.off))
            let users = Probe.people(0..<10)
            let first = try await probe.visits(of: users)
            try await probe.go(to: .live, share: 1)
            let before = try await probe.visits(of: users)
            probe.expect(Set(before.map(\.vendor)), equals: [move.new.name], "who answers with a share of everything")
            probe.expect(before.map(\.color), equals: first.map(\.color), "what they see at the new vendor")
            try await probe.go(to: .live, share: 0)
            probe.expect(try await probe.visits(of: users), equals: before, "the same users later")
            let newcomer = try await probe.visits(of: Probe.people(10..<11))
            probe.expect(newcomer.map(\.vendor), equals: [move.old.name], "who answers a newcomer")
            probe.expect(try await probe.sight().changed, equals: 0, "users who saw a change")
        },
        moves("a-way-back", 22, "Every stage can be reversed with every user keeping their variation") {
            probe in
            _ = try await probe.carryingMove()
            let move = try await probe.start(MovePlan(.off))
            let users = Probe.people(0..<5)
            let before = try await probe.visits(of: users)
            let there: [(MoveStage, Double)] = [
                (.dualWrite, 0), (.shadow, 0), (.live, 0.5), (.rampDown, 1), (.complete, 1),
            ]
            for (stage, share) in there {
                // The last stage can't be reached by skipping those in which users' variations are learned.
                if stage == .complete { try await probe.go(to: .rampDown, share: share) }
                try await probe.go(to: stage, share: share)
                let colors = try await probe.visits(of: users).map(\.color)
                probe.expect(colors, equals: before.map(\.color), "what they see at \(stage.rawValue) \(share)")
                try await probe.go(to: .off)
                probe.expect(try await probe.visits(of: users), equals: before, "back from \(stage.rawValue) \(share)")
            }
            guard move.old.takesEvents else { return }
            try await probe.trackMarks(1...1, in: try await probe.session())
            try await probe.deliverEverywhere()
            probe.expect(try await move.old.marks(), equals: [1], "what \(move.old.name) has after the way back")
            probe.expect(try await move.new.marks(), equals: [], "what \(move.new.name) has after the way back")
        },
        moves("a-log-in-keeps-the-side", 22, "Signing in changes neither side nor variation, now or later") {
            probe in
            let move = try await probe.carryingMove()
            try await probe.start(MovePlan(.live, share: 0.5))
            let range = 0..<10
            let before = try await probe.visits(of: Probe.people(range))
            probe.expect(Set(before.compactMap(\.vendor)).count, equals: 2, "the vendors that answer")
            for anonymousID in [true, false] {
                let signedIn = range.map { number in
                    User(
                        id: "person-\(number)",
                        anonymousID: anonymousID ? "visit-\(number)" : nil,
                        isAuthenticated: true,
                        consent: .granted
                    )
                }
                let after = try await probe.visits(of: signedIn)
                let what = "signed in \(anonymousID ? "with" : "without") the anonymous id"
                probe.expect(after.map(\.vendor), equals: before.map(\.vendor), "who answers, \(what)")
                // An old vendor that keeps no places reassigns its own users when they sign in, moved or not.
                let pairs = zip(before, after).filter { before, _ in
                    before.vendor == move.new.name || move.old.keepsPlaces
                }
                probe.expect(pairs.map(\.1.color), equals: pairs.map(\.0.color), "what they see, \(what)")
            }
        },
        moves("a-stage-outlives-a-kill", 22, "Stage, share and sides survive a kill") { probe in
            _ = try await probe.carryingMove()
            try await probe.start(MovePlan(.off))
            let users = Probe.people(0..<10)
            let first = try await probe.visits(of: users)
            try await probe.go(to: .live, share: 0.5)
            let before = try await probe.visits(of: users)
            probe.expect(before.map(\.color), equals: first.map(\.color), "what they see")
            try await probe.kill()
            probe.expect(try await probe.visits(of: users), equals: before, "the same users after the kill")
            probe.expect(try await probe.sight().place, equals: "live 0.5", "where the move stands")
        },
        moves(
            "who-can-not-be-told",
            22,
            "A vendor that can't be told of variations doesn't lead users unless that is accepted"
        ) {
            probe in
            let move = try probe.decidingMove(experiments: true)
            guard !move.new.canBeTold else { throw CaseDoesNotApply("\(move.new.name) can be told of variations") }
            try await probe.start(MovePlan(.shadow))
            let error = await probe.expectError("the move to live", .configuration) { try await probe.go(to: .live) }
            probe.expect(error?.message.contains("checkout") == true, "what to finish first: \(error?.message ?? "")")
            probe.expect(try await probe.sight().stage, equals: .shadow, "where the move stands")
            var plan = MovePlan(.shadow)
            plan.keepsVariations = false
            move.follow(plan)
            try await probe.restart()
            try await probe.go(to: .live, share: 1)
            let visits = try await probe.visits(of: Probe.people(0..<1))
            probe.expect(visits.map(\.vendor), equals: [move.new.name], "who answers once it is accepted")
        },
        moves("mapping-faults", 22, "A fault in the mapping is reported with its key, and changes nothing") { probe in
            let move = try probe.decidingMove(experiments: true)
            var twice = MovePlan(.off)
            twice.flaw = .mappedTwice
            let error = await probe.expectError("the start", .configuration) { try await probe.start(twice) }
            probe.expect(error?.message.contains("mapping[0].variations.") == true, error?.message ?? "no error")
            guard move.new.canBeTold else { return }
            for flaw in [MovePlan.Flaw.unknownVariation, .unmapped] {
                // Only published rules can be compared with a mapping.
                guard [move.old, move.new].allSatisfy({ $0.subject.capabilities.contains(.localEvaluation) }) else {
                    continue
                }
                var plan = MovePlan(.shadow)
                plan.flaw = flaw
                move.follow(plan)
                try await probe.restart()
                let error = await probe.expectError("the move to live", .configuration) {
                    try await probe.go(to: .live, share: 1)
                }
                probe.expect(error?.message.contains("mapping[0].variations") == true, error?.message ?? "no error")
                probe.expect(try await probe.sight().place, equals: "shadow 0.0", "where the move stands")
                let visits = try await probe.visits(of: Probe.people(0..<3))
                probe.expect(Set(visits.map(\.vendor)), equals: [move.old.name], "who answers after a \(flaw)")
            }
        },
    ]

    static func moves(_ name: String, _ promise: Int, _ summary: String, _ steps: @escaping Steps) -> ConformanceCase {
        ConformanceCase("migration/\(name)", promise: promise, summary, world: .split, steps: steps)
    }
}
