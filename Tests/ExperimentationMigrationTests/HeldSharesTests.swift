import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Shares that are held")
struct HeldSharesTests {
    /// A client at half a share, with an alarm.
    private func client(_ moves: Moves, alarm test: String, holds: Bool = true) async throws -> ExperimentationClient {
        let client = try await moves.client { plan in
            (plan.stage, plan.share, plan.holdsOnAlarm) = (.live, 0.5, holds)
            guard test == "e0" else { return }
            var mapped = plan.mapping.experiments
            // Half of the users get an arm meant for one in a thousand.
            mapped[0].weights = ["a": 999, "b": 1]
            plan.mapping = Mapping(mapped)
        }
        if test == "e0" {
            for number in 0..<60 { _ = try await Moves.color("user-\(number)", by: client) }
        } else {
            let tally = try Moves.migration(of: client).tally
            for _ in 0..<1_000 { tally.pin(.new) }
        }
        return client
    }

    @Test("a sample-ratio alarm holds a rise of the share, but lets it fall", arguments: ["e0", "sides"])
    func rise(test: String) async throws {
        let moves = Moves()
        let client = try await client(moves, alarm: test)
        let migration = try Moves.migration(of: client)
        let error = await #expect(throws: ExperimentationError.self) {
            try await migration.move(to: .live, share: 0.6)
        }
        #expect(
            error?.message
                == "The move to live is held: users don't fall where they should: the sample-ratio test alarms for \(test)"
        )
        #expect(try await moves.standing()?.share == 0.5)
        try await migration.move(to: .live, share: 0.4)
        #expect(migration.share == 0.4)
        await client.shutdown(within: .zero)
    }

    @Test("the test of the sides starts over with a lower share, which may then rise")
    func anew() async throws {
        let client = try await client(Moves(), alarm: "sides")
        let migration = try Moves.migration(of: client)
        try await migration.move(to: .live, share: 0.4)
        try await migration.move(to: .live, share: 0.6)
        #expect(migration.share == 0.6)
        await client.shutdown(within: .zero)
    }

    @Test("the share rises in spite of an alarm if the plan says that alarms hold nothing")
    func allowed() async throws {
        let client = try await client(Moves(), alarm: "e0", holds: false)
        let migration = try Moves.migration(of: client)
        try await migration.move(to: .live, share: 0.6)
        #expect(migration.share == 0.6)
        await client.shutdown(within: .zero)
    }

    @Test("a plan with a higher share is held at the start, as a later stage is")
    func atTheStart() async throws {
        let moves = Moves()
        let first = try await client(moves, alarm: "sides")
        try await Moves.migration(of: first).noteAlarms()
        await first.shutdown(within: .zero)
        let error = await #expect(throws: ExperimentationError.self) {
            try await moves.client { ($0.stage, $0.share) = (.live, 0.6) }
        }
        #expect(error?.message.contains("the sample-ratio test alarms for sides") == true)
    }

    @Test("a share lowered while the new vendor assigns its first user, whom the old one can't take over, takes effect")
    func fallsMeanwhile() async throws {
        let moves = Moves(oldCanBeTold: false)
        let interruption = Interruption()
        let racing = RacingStore(moves.store, before: interruption.happen)
        var plan = moves.plan
        plan.pins = .ignored
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let other = try await moves.client { $0.pins = .ignored }
        try await Moves.migration(of: client).move(to: .live, share: 1)
        // Without the old vendor's answer, the new one assigns the user.
        moves.old.setDisabled(true)
        moves.time.advance(by: .seconds(3))
        let migration = try Moves.migration(of: other)
        _ = try await migration.current()
        interruption.arm { () async throws(ExperimentationError) in
            moves.old.setDisabled(false)
            try await migration.move(to: .live, share: 0)
        }
        let before = try await Moves.color("ada", by: client)
        #expect(interruption.hasHappened)
        #expect(try await Moves.color("ada", by: client) == before)
        for client in [client, other] { await client.shutdown(within: .zero) }
    }
}
