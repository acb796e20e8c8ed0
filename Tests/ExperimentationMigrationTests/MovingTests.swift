import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing
import Waiting

@Suite("Moving users")
struct MovingTests {
    static let users = (0..<40).map { "user-\($0)" }
    static let there: [(MigrationStage, Double)] = [
        (.dualWrite, 0), (.shadow, 0), (.live, 0.3), (.live, 0.7), (.shadow, 0.7), (.live, 0.1), (.live, 1),
        (.rampDown, 1),
        (.live, 0.2), (.rampDown, 1), (.complete, 1),
    ]

    @Test("the two vendors alone would assign users differently, so there is something to keep")
    func vendorsDiffer() async throws {
        let moves = Moves()
        let one = try await ExperimentationClient(provider: moves.old)
        let two = try await ExperimentationClient(provider: moves.new)
        var differences = 0
        for user in Self.users where try await Moves.color(user, by: one) != Moves.color(user, by: two) {
            differences += 1
        }
        #expect(differences > 10)
    }

    @Test("no user sees another variation, through all stages forward and back")
    func nobodyChanges() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        var seen: [String: String] = [:]
        for user in Self.users { seen[user] = try await Moves.color(user, by: client) }
        #expect(Set(seen.values) == ["grey", "green"])
        for (stage, share) in Self.there {
            try await migration.move(to: stage, share: share)
            for user in Self.users {
                let color = try await Moves.color(user, by: client)
                #expect(color == seen[user], "\(user) at \(stage) \(share)")
            }
        }
        #expect(migration.report.changed == 0)
        await client.shutdown()
    }

    @Test("signing in keeps side and variation, later even without the anonymous id")
    func signingIn() async throws {
        let moves = Moves()
        let client = try await moves.client { plan in
            plan.stage = .live
            plan.share = 0.5
        }
        for number in 0..<20 {
            let before = try await Moves.color("anon-\(number)", by: client)
            let side = try await Moves.side("anon-\(number)", by: client)
            #expect(try await Moves.side("ada-\(number)", anonymous: "anon-\(number)", by: client) == side)
            #expect(try await Moves.side("ada-\(number)", by: client) == side)
            #expect(try await Moves.color("ada-\(number)", anonymous: "anon-\(number)", by: client) == before)
            #expect(try await Moves.color("ada-\(number)", by: client) == before)
        }
        #expect(try Moves.migration(of: client).report.pinned.values.reduce(0, +) == 20)
        await client.shutdown()
    }

    @Test("raising the share moves only users who aren't pinned, lowering it moves none")
    func pins() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .live }
        let migration = try Moves.migration(of: client)
        for user in Self.users { _ = try await Moves.color(user, by: client) }
        #expect(migration.report.pinned == [.old: 40])
        try await migration.move(to: .live, share: 1)
        for user in Self.users { #expect(try await Moves.side(user, by: client) == .old) }
        #expect(migration.report.pinned == [.old: 40])
        #expect(try await Moves.side("late", by: client) == .new)
        #expect(migration.report.pinned == [.old: 40, .new: 1])
        try await migration.move(to: .live, share: 0)
        #expect(try await Moves.side("late", by: client) == .new)
        #expect(try await Moves.side("later", by: client) == .old)
        await client.shutdown()
    }

    @Test("an exposure goes to the vendor that answered, an event to both, under one id")
    func twoBooks() async throws {
        let moves = Moves()
        let client = try await moves.client { plan in
            plan.stage = .live
            plan.share = 0.5
        }
        for user in Self.users {
            let session = client.session(for: User(id: user, consent: .granted))
            try await session.refresh()
            _ = session.string("f0", default: "none")
            try await session.track(.custom("goal"))
        }
        try await client.flush()
        #expect(moves.old.exposures.count + moves.new.exposures.count == Self.users.count)
        #expect(!moves.old.exposures.isEmpty && !moves.new.exposures.isEmpty)
        let goals = [moves.old, moves.new].map { vendor in
            Set(vendor.record.delivered.filter { $0.event.type == "custom" }.map(\.id))
        }
        #expect(goals[0].count == Self.users.count)
        #expect(goals[0] == goals[1])
        #expect(moves.new.exposures.allSatisfy { $0.assignment.metadata.isEmpty })
        let ledgers = try await client.ledgers()
        #expect(ledgers.count == 2)
        #expect(ledgers.values.allSatisfy { $0.isBalanced && $0.pending == 0 })
        await client.shutdown()
    }

    @Test("a kill switch disables only the users whom that vendor leads")
    func killSwitch() async throws {
        let moves = Moves()
        let client = try await moves.client { plan in
            plan.stage = .live
            plan.share = 0.5
        }
        for user in Self.users { _ = try await Moves.color(user, by: client) }
        let pinned = try Moves.migration(of: client).report.pinned
        moves.new.setDisabled(true)
        var off = 0
        for user in Self.users where try await Moves.color(user, by: client) == "none" { off += 1 }
        #expect(off == pinned[.new])
        await client.shutdown()
    }

    @Test("a vendor that can't be told of variations refuses the live stage and names what to finish first")
    func refusal() async throws {
        let moves = Moves(experiments: 2, canBeTold: false)
        let client = try await moves.client { $0.stage = .shadow }
        let migration = try Moves.migration(of: client)
        let error = await #expect(throws: ExperimentationError.self) { try await migration.move(to: .live, share: 0.5) }
        #expect(error?.message.contains("e0, e1") == true)
        #expect(migration.stage == .shadow)
        await client.shutdown()
        let brave = try await moves.client { $0.reassignment = .accepted }
        try await Moves.migration(of: brave).move(to: .live, share: 0.5)
        await brave.shutdown()
    }

    @Test(
        "a mapping that contradicts the vendors' own rules is rejected at the start of live, with every fault",
        arguments: [
            (
                ExperimentMapping(old: .init("e0"), new: .init("gone"), variations: ["a": "A", "b": "B"]),
                "no experiment"
            ),
            (ExperimentMapping(old: .init("e0"), new: .init("x0"), variations: ["a": "A", "b": "Z"]), "no variation"),
            (ExperimentMapping(old: .init("e0"), new: .init("x0"), variations: ["a": "A"]), "isn't mapped"),
            (ExperimentMapping(old: .init("e0"), new: .init("x0"), variations: ["a": "B", "b": "A"]), "another value"),
        ]
    )
    func mappingFaultsAtStart(mapped: ExperimentMapping, problem: String) async throws {
        let moves = Moves()
        let error = await #expect(throws: ExperimentationError.self) {
            try await moves.client { plan in
                plan.stage = .live
                plan.mapping = Mapping([mapped])
            }
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
        #expect(try await moves.store.state.keys(beginningWith: "").allSatisfy { !$0.contains("people") })
    }

    @Test("a move can be rolled back from every stage: users keep their variations, and the old vendor its events")
    func rollBack() async throws {
        for (stage, share) in [(MigrationStage.dualWrite, 0.0), (.shadow, 0), (.live, 0.5), (.live, 1), (.rampDown, 1)]
        {
            let moves = Moves()
            let client = try await moves.client()
            let migration = try Moves.migration(of: client)
            var seen: [String] = []
            for user in Self.users { seen.append(try await Moves.color(user, by: client)) }
            try await migration.move(to: stage, share: share)
            for user in Self.users { _ = try await Moves.color(user, by: client) }
            try await migration.move(to: .off)
            var now: [String] = []
            for user in Self.users { now.append(try await Moves.color(user, by: client)) }
            #expect(now == seen, "back from \(stage) \(share)")
            let session = client.session(for: User(id: "late", consent: .granted))
            try await session.track(.custom("after"))
            try await client.flush()
            #expect(moves.old.delivered.contains(.custom("after")))
            #expect(!moves.new.delivered.contains(.custom("after")))
            #expect(try await client.ledgers().values.map(\.isBalanced) == Array(repeating: true, count: 2))
            await client.shutdown()
        }
    }

    @Test("two identical accounts are rejected")
    func sameAccount() async throws {
        let vendor = InMemoryProvider()
        let error = await #expect(throws: ExperimentationError.self) {
            try await ExperimentationClient(
                provider: MigratingProvider(from: vendor, to: vendor, plan: MigrationPlan())
            )
        }
        #expect(error?.code == .configuration)
    }

    @Test("a shadow that fails or is disabled affects no user, and is counted")
    func failingShadow() async throws {
        let moves = Moves()
        moves.new.setFailure(ExperimentationError(.transport, "away"))
        let client = try await moves.client { $0.stage = .shadow }
        let migration = try Moves.migration(of: client)
        #expect(try await Moves.color("ada", by: client) != "none")
        try await eventually("the failures are counted") { (migration.report.confirmed[.error] ?? 0) == 2 }
        #expect(moves.new.exposures.isEmpty)
        #expect(migration.report.rate.upperBound() > 0.5)
        await client.shutdown()
    }

    @Test("equal vendors have no visible mismatch in the shadow, with carried places")
    func shadowAgrees() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .shadow }
        let migration = try Moves.migration(of: client)
        for user in Self.users { _ = try await Moves.color(user, by: client) }
        try await eventually("all are compared") { migration.report.compared == Self.users.count * 2 }
        #expect(migration.report.rate.mismatched == 0)
        await client.shutdown()
    }
}
