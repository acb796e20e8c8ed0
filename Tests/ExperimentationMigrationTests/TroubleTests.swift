import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Moves with failures")
struct TroubleTests {
    @Test("a shadow that hangs delays no user; excess comparisons are dropped and counted, late ones named")
    func hungCandidate() async throws {
        let moves = Moves()
        var plan = moves.plan
        plan.stage = .shadow
        plan.mapping = Mapping()
        plan.reassignment = .accepted
        plan.shadow = ShadowPolicy(workers: 1, waiting: 2, moment: .zero, isInBackground: false)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: HangingProvider(), plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        // Time is stopped, so a read that waited for the shadow would wait forever.
        for number in 0..<10 { #expect(try await Moves.color("user-\(number)", by: client) != "none") }
        #expect(migration.report.dropped == 7)
        try await eventually("the three that were taken are late") {
            moves.time.advance(by: .seconds(1))
            return migration.report.confirmed[.late] == 6
        }
        #expect(!migration.report.recent.contains { $0.user.contains("user-") })
        await client.shutdown(within: .zero)
    }

    @Test(
        "a kill between the two deliveries loses and repeats nothing: each vendor has each event once, under one id"
    )
    func killBetweenDeliveries() async throws {
        let moves = Moves()
        moves.new.setVerdict { _ in .outage() }
        let first = try await moves.client { $0.stage = .dualWrite }
        let session = first.session(for: User(id: "ada", consent: .granted))
        for number in 0..<5 { try await session.track(.custom("goal-\(number)")) }
        // Waits for the ledger, because a kill between delivery and ledger would cause a repetition.
        try await eventually("the old vendor has all, and its account says so") {
            try await first.ledgers().values.contains { $0.delivered == 5 }
        }
        #expect(moves.old.record.delivered.count == 5 && moves.new.record.delivered.isEmpty)
        await first.shutdown(within: .zero)

        moves.new.setVerdict { _ in .delivered }
        let second = try await moves.client { $0.stage = .dualWrite }
        moves.time.advance(by: .seconds(3_600))
        #expect(try await second.flush().isDone)
        #expect(moves.new.record.delivered.map(\.id) == moves.old.record.delivered.map(\.id))
        let ledgers = try await second.ledgers()
        #expect(ledgers.values.map(\.delivered) == [5, 5])
        #expect(ledgers.values.allSatisfy { $0.isBalanced })
        await second.shutdown(within: .zero)
    }

    @Test("a denial of consent purges what waits for either vendor, and deletes the user's record")
    func denial() async throws {
        let moves = Moves()
        moves.old.setVerdict { _ in .outage() }
        moves.new.setVerdict { _ in .outage() }
        let client = try await moves.client { plan in
            plan.stage = .live
            plan.share = 1
        }
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        try await session.track(.custom("goal"))
        #expect(try await moves.store.state.keys(beginningWith: "").contains { $0.contains("migration/people") })
        try await session.setConsent(.denied)
        let ledgers = try await client.ledgers()
        #expect(ledgers.values.map(\.purged) == [1, 1])
        #expect(try await !moves.store.state.keys(beginningWith: "").contains { $0.contains("migration/people") })
        await client.shutdown(within: .zero)
    }

    @Test("unknown consent holds events at both vendors if one of them needs it")
    func strictConsent() async throws {
        let moves = Moves(needsConsent: true)
        let client = try await moves.client { $0.stage = .dualWrite }
        let session = client.session(for: User(id: "ada"))
        try await session.track(.custom("goal"))
        try await client.flush()
        #expect(moves.old.delivered.isEmpty && moves.new.delivered.isEmpty)
        try await session.setConsent(.granted)
        try await eventually("both have it") {
            moves.old.delivered.contains(.custom("goal")) && moves.new.delivered.contains(.custom("goal"))
        }
        await client.shutdown(within: .zero)
    }

    @Test(
        "a flag of either vendor sets the stage, whichever vendor leads",
        arguments: MigrationSide.allCases,
        ["shadow", "live:0.25"]
    )
    func stageFlag(side: MigrationSide, text: String) async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stageFlag = .init(of: side, key: "stage") }
        let migration = try Moves.migration(of: client)
        _ = try await Moves.color("ada", by: client)
        #expect(migration.stage == .off)
        let vendor = side == .old ? moves.old : moves.new
        vendor.set(InMemoryFlag("stage", .string(text)))
        moves.time.advance(by: .seconds(11))
        _ = try await Moves.color("ada", by: client)
        try await eventually("it goes there") { migration.stage != .off }
        #expect(migration.stage == (text == "shadow" ? .shadow : .live))
        #expect(migration.share == (text == "shadow" ? 0 : 0.25))
        // Another client on the same store finds the stage there.
        #expect(
            try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).stage == migration.stage
        )
        await client.shutdown(within: .zero)
    }

    @Test(
        "a flag without a stage, or with an invalid share, changes nothing",
        arguments: [nil, "", "begun", "live:", "live:half", "live:nan", "live:1.5", "live:-1", ":0.5"] as [String?]
    )
    func oddStageFlag(text: String?) { #expect(Migration.place(text) == nil) }

    @Test("a stage written into the store from outside is followed, and a refused one changes nothing")
    func movedFromOutside() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        for number in 0..<10 { _ = try await Moves.color("user-\(number)", by: client) }
        let provider = MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan)
        func move(_ stage: MigrationStage, _ share: Double?) async throws -> MigrationRecord {
            let environment = ClientEnvironment(time: moves.time)
            return try await MigrationRecord.move(
                to: stage,
                share: share,
                with: provider,
                in: moves.store.state,
                environment: environment
            )
        }
        let record = try await move(.live, 0.5)
        #expect(record.stage == .live && record.share == 0.5 && record.people == 10)
        moves.time.advance(by: .seconds(3))
        _ = try await Moves.color("late", by: client)
        #expect(migration.stage == .live && migration.share == 0.5)
        await #expect(throws: ExperimentationError.self) { try await move(.live, .nan) }
        let after = try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state)
        #expect(after.stage == .live && after.share == 0.5)
        await client.shutdown(within: .zero)
    }

    @Test("a vendor that disabled itself isn't asked by the next process either, but the other vendor is")
    func switchIsKept() async throws {
        let moves = Moves()
        let first = try await moves.client { $0.stage = .rampDown }
        moves.new.setDisabled(true)
        let session = first.session(for: User(id: "ada", consent: .granted))
        try? await session.refresh()
        #expect(session.status == .disabled)
        await first.shutdown(within: .zero)
        moves.new.setFailure(ExperimentationError(.transport, "away"))
        let second = try await moves.client { $0.stage = .rampDown }
        try await second.session(for: User(id: "ben", consent: .granted)).track(.custom("goal"))
        _ = try await second.flush(within: .seconds(1), retrying: false)
        #expect(moves.new.record.batches.isEmpty)
        try await eventually("the old vendor has it") { moves.old.delivered.contains(.custom("goal")) }
        await second.shutdown(within: .zero)
    }

    @Test("reading the stage flag isn't counted as a comparison, even where that is dropped")
    func flagIsNoComparison() async throws {
        let queue = ShadowQueue(ShadowPolicy(workers: 1, waiting: 0, isInBackground: false))
        let gate = AsyncGate()
        queue.submit(isComparison: true) { _ = await gate.wait() }
        queue.submit(isComparison: false) {}
        #expect(queue.counts.dropped == 0)
        queue.submit(isComparison: true) {}
        #expect(queue.counts.dropped == 1)
        gate.open()
    }

    @Test("a mismatch that no look can decide is counted as such, and the rate leaves it out")
    func undecided() async throws {
        let moves = Moves()
        let looks = Mutex(0)
        let changing = ScriptedVendor("new") { _ in
            // Another answer at each look is another configuration.
            let number = looks.withLock { looks in
                looks += 1
                return looks
            }
            return .flags([(key: "plain", resolution: Resolution(.string("\(number)")))])
        }
        var plan = moves.plan
        (plan.stage, plan.mapping, plan.reassignment) = (.shadow, Mapping(), .accepted)
        let old = InMemoryProvider(name: "old", flags: [InMemoryFlag("plain", "same")])
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: changing, plan: plan),
            environment: ClientEnvironment(time: moves.time)
        )
        try await client.session(for: User(id: "ada", consent: .granted)).refresh()
        let migration = try Moves.migration(of: client)
        try await eventually("the looks are over") { migration.report.undecided[.value] == 1 }
        #expect(migration.report.confirmed.isEmpty)
        #expect(migration.report.compared == 1 && migration.report.rate.compared == 0)
        await client.shutdown(within: .zero)
    }

    @Test("the stage survives the process, and another plan overrides it")
    func stageIsKept() async throws {
        let moves = Moves()
        let first = try await moves.client()
        try await Moves.migration(of: first).move(to: .shadow)
        await first.shutdown(within: .zero)
        let second = try await moves.client()
        _ = try await Moves.color("ada", by: second)
        #expect(try Moves.migration(of: second).stage == .shadow)
        await second.shutdown(within: .zero)
        let third = try await moves.client { $0.stage = .dualWrite }
        _ = try await Moves.color("ada", by: third)
        #expect(try Moves.migration(of: third).stage == .dualWrite)
        await third.shutdown(within: .zero)
    }
}
