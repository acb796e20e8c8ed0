import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing
import Waiting

@Suite("Moves with trouble")
struct TroubleTests {
    @Test("a candidate that hangs delays nobody; what is too much is dropped and counted, what is late is named")
    func hungCandidate() async throws {
        let moves = Moves()
        var plan = moves.plan
        plan.stage = .shadow
        plan.mapping = Mapping()
        plan.reassignment = .accepted
        plan.shadow = ShadowPolicy(workers: 1, waiting: 2, deadline: .seconds(5), moment: .zero)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: HangingProvider(), plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        // Time stands still, so whatever waited for the candidate would wait for ever.
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
        "a kill between the two deliveries loses nothing and repeats nothing: each vendor has each event once, under one id"
    )
    func killBetweenDeliveries() async throws {
        let moves = Moves()
        moves.new.setVerdict { _ in .outage() }
        let first = try await moves.client { $0.stage = .dualWrite }
        let session = first.session(for: User(id: "ada", consent: .granted))
        for number in 0..<5 { try await session.track(.custom("goal-\(number)")) }
        // A vendor has an event a moment before its account says so, and a kill between the two repeats it.
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

    @Test("a denial of consent purges what waits for either vendor, and forgets where the user was")
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

    @Test("unknown consent holds events at both vendors as soon as one of them needs it")
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

    @Test("the stage outlives the process, and another plan counts over it")
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
