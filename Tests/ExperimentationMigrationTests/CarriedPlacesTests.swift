import Experimentation
import ExperimentationTesting
import Synchronization
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Places that a move carries")
struct CarriedPlacesTests {
    private static let away = ExperimentationError(.transport, "away")

    /// An old vendor that assigns only half of the users, by traffic or by a holdout.
    private static func half(_ moves: Moves, byHoldout: Bool) {
        let half = InMemoryExperiment(
            Experiment(id: "away"),
            arms: [.init(Variation(id: "out"), weight: 50)],
            isHoldout: true
        )
        let weight = byHoldout ? 50.0 : 25
        let experiment = InMemoryExperiment(
            Experiment(id: "e0"),
            arms: [
                .init(Variation(id: "a", isControl: true), weight: weight, flags: ["f0": "grey"]),
                .init(Variation(id: "b"), weight: weight, flags: ["f0": "green"]),
            ],
            holdouts: byHoldout ? ["away"] : []
        )
        moves.old.replace(flags: [], experiments: byHoldout ? [half, experiment] : [experiment])
    }

    @Test("users outside the old vendor's traffic or in its holdout stay outside", arguments: [false, true])
    func outside(byHoldout: Bool) async throws {
        let moves = Moves()
        Self.half(moves, byHoldout: byHoldout)
        let client = try await moves.client { $0.stage = .shadow }
        let migration = try Moves.migration(of: client)
        var seen: [String: String] = [:]
        for user in MovingTests.users.prefix(20) { seen[user] = try await Moves.color(user, by: client) }
        try await migration.move(to: .live, share: 1)
        let alone = try await ExperimentationClient(provider: moves.old)
        for user in MovingTests.users {
            let expected: String
            if let before = seen[user] {
                expected = before
            } else {
                expected = try await Moves.color(user, by: alone)
            }
            #expect(try await Moves.color(user, by: client) == expected, "\(user)")
        }
        #expect(Set(seen.values) == ["grey", "green", "none"])
        #expect(migration.report.changed == 0)
        for client in [client, alone] { await client.shutdown(within: .zero) }
    }

    @Test("users who first come back in rampDown keep the variations that the old vendor assigned")
    func skippingLive() async throws {
        let moves = Moves()
        let alone = try await ExperimentationClient(provider: moves.old)
        let client = try await moves.client()
        try await Moves.migration(of: client).move(to: .rampDown)
        for user in MovingTests.users {
            #expect(try await Moves.color(user, by: client) == Moves.color(user, by: alone), "\(user)")
        }
        // An old vendor that is away or closed delays no user whom the new one leads.
        moves.old.setFailure(Self.away)
        #expect(try await Moves.color("late", by: client) != "none")
        for client in [client, alone] { await client.shutdown(within: .zero) }
    }

    @Test(
        "a move can't skip from a stage in which the old vendor leads to the last one, without learning its variations"
    )
    func skippingAll() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let migration = try Moves.migration(of: client)
        await #expect(throws: ExperimentationError.self) { try await migration.move(to: .complete) }
        try await migration.move(to: .rampDown)
        try await migration.move(to: .complete)
        await client.shutdown(within: .zero)
    }

    @Test("a newcomer to live sees what the old vendor would have shown, whichever vendor answers")
    func newcomers() async throws {
        let moves = Moves()
        let alone = try await ExperimentationClient(provider: moves.old)
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 0.5) }
        var sides: Set<MigrationSide> = []
        for user in MovingTests.users {
            #expect(try await Moves.color(user, by: client) == Moves.color(user, by: alone), "\(user)")
            if let side = try await Moves.side(user, by: client) { sides.insert(side) }
        }
        #expect(sides == [.old, .new])
        for client in [client, alone] { await client.shutdown(within: .zero) }
    }

    @Test("with pins ignored, each change of the share draws the sides again, and variations stay")
    func pinsIgnored() async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.share, $0.pins) = (.live, 0.9, .ignored) }
        let migration = try Moves.migration(of: client)
        var seen: [String: String] = [:]
        for user in MovingTests.users { seen[user] = try await Moves.color(user, by: client) }
        for share in [0, 0.3, 1] {
            try await migration.move(to: .live, share: share)
            for user in MovingTests.users {
                #expect(try await Moves.color(user, by: client) == seen[user])
                let drawn = StableKey(user).side(share: share, salt: migration.plan.salt)
                #expect(try await Moves.side(user, by: client) == drawn)
            }
        }
        await client.shutdown(within: .zero)
    }

    @Test("users whose consent allows no record count in no ratio, however often they come")
    func withoutConsent() async throws {
        let moves = Moves(needsConsent: true)
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 0.5) }
        let session = client.session(for: User(id: "ada"))
        for _ in 0..<5 { try await session.refresh(force: true) }
        let report = try Moves.migration(of: client).report
        #expect(report.pinned.isEmpty)
        #expect(report.allocations.isEmpty)
        await client.shutdown(within: .zero)
    }

    @Test("a user counts once in the ratio, though the new vendor failed after the old one had been asked")
    func afterFailures() async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        moves.new.setFailure(Self.away)
        let session = client.session(for: User(id: "ada", consent: .granted))
        for _ in 0..<3 { try? await session.refresh(force: true) }
        moves.new.setFailure(nil)
        moves.time.advance(by: .seconds(5))
        try await session.refresh(force: true)
        let counts = try Moves.migration(of: client).report.allocations["e0"]?.counts
        #expect(counts?.values.reduce(0, +) == 1)
        await client.shutdown(within: .zero)
    }

    @Test("two instances that decide for one user at once agree, and the user counts once")
    func race() async throws {
        let moves = Moves()
        struct Gate { var action: (@Sendable () async -> Void)? }
        let gate = Mutex(Gate())
        let racing = RacingStore(moves.store) {
            let rival = gate.withLock { gate in
                defer { gate.action = nil }
                return gate.action
            }
            await rival?()
        }
        var plan = moves.plan
        (plan.stage, plan.share) = (.live, 0.5)
        let provider = MigratingProvider(from: moves.old, to: moves.new, plan: plan)
        let environment = ClientEnvironment(time: moves.time)
        let one = try await ExperimentationClient(
            provider: provider,
            store: racing.clientStore,
            environment: environment
        )
        let two = try await ExperimentationClient(provider: provider, store: moves.store, environment: environment)
        let rival = Mutex<String?>(nil)
        gate.withLock {
            $0.action = { @Sendable in
                let color = try? await Moves.color("ada", by: two)
                rival.withLock { $0 = color }
            }
        }
        let own = try await Moves.color("ada", by: one)
        #expect(rival.withLock { $0 } == own)
        let pinned = try [one, two].map { try Moves.migration(of: $0).report.pinned.values.reduce(0, +) }
        #expect(pinned == [0, 1])
        for client in [one, two] { await client.shutdown(within: .zero) }
    }

    @Test("the report has the sides by the share, and the latency of each vendor that was asked")
    func sidesAndLatencies() async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 0.5) }
        for user in MovingTests.users { _ = try await Moves.color(user, by: client) }
        let report = try Moves.migration(of: client).report
        #expect(report.sides?.counts.values.reduce(0, +) == 40)
        #expect(report.sides?.counts["old"] == report.pinned[.old])
        #expect((report.latencies[.old]?.count ?? 0) >= report.pinned[.old] ?? 0)
        #expect((report.latencies[.new]?.count ?? 0) >= report.pinned[.new] ?? 0)
        await client.shutdown(within: .zero)
    }

    @Test(
        "a user isn't considered outside an experiment that the device has overridden at the old vendor",
        arguments: [AssignmentOverride.include(experiment: "e0", variation: "b"), .exclude(experiment: "e0")]
    )
    func overridden(override: AssignmentOverride) async throws {
        let alone = try await Moves().client()
        let own = try await Moves.color("ada", by: alone)
        let client = try await Moves().client()
        try await client.force(override)
        _ = try await Moves.color("ada", by: client)
        await client.removeOverrides()
        try await Moves.migration(of: client).move(to: .rampDown)
        #expect(try await Moves.color("ada", by: client) == own)
        for client in [alone, client] { await client.shutdown(within: .zero) }
    }
}
