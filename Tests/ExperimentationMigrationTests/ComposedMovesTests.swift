import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Moves of compositions")
struct ComposedMovesTests {
    private let warehouse = InMemoryProvider(
        name: "warehouse",
        batching: BatchPolicy(count: 1, interval: .zero),
        needsConsent: false
    )

    /// A composition of a vendor and the warehouse.
    private func beside(_ vendor: InMemoryProvider) throws -> ComposedProvider {
        try ComposedProvider([ComposedProvider.Vendor(vendor), ComposedProvider.Vendor(EventsOnly(warehouse))])
    }

    private func client(
        from old: any ExperimentationProvider,
        to new: any ExperimentationProvider,
        of moves: Moves,
        at stage: MigrationStage = .off
    ) async throws -> ExperimentationClient {
        var plan = moves.plan
        (plan.stage, plan.reassignment) = (stage, .accepted)
        return try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
    }

    private func session(of client: ExperimentationClient) -> UserSession {
        client.session(for: User(id: "ada", consent: .granted))
    }

    /// Moves through stages, and tracks in each an event that is named after it.
    private func track(in stages: [MigrationStage], by client: ExperimentationClient) async throws {
        for stage in stages {
            try await Moves.migration(of: client).move(to: stage)
            try await session(of: client).track(.custom(stage.rawValue))
            _ = try await client.flush()
        }
    }

    @Test("a move in a composition learns of another instance's move before a denial and before an event")
    func inside() async throws {
        let moves = Moves()
        func client() async throws -> ExperimentationClient {
            let move = MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan)
            return try await ExperimentationClient(
                provider: try ComposedProvider([.init(move), .init(EventsOnly(warehouse))]),
                store: moves.store,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        let (idle, other) = (try await client(), try await client())
        try await Moves.migration(of: other).move(to: .dualWrite)
        try await idle.setConsent(.denied, for: User(id: "ada"))
        _ = try await idle.flush()
        #expect(moves.new.delivered == [TrackingEvent(.consentChanged(granted: false))])
        try await Moves.migration(of: other).move(to: .off)
        moves.time.advance(by: .seconds(3))
        try await idle.track(.custom("goal"), for: User(id: "eve", consent: .granted))
        _ = try await idle.flush()
        #expect(moves.new.delivered.count == 1)
        #expect(warehouse.delivered.last == .custom("goal"))
        for client in [idle, other] { await client.shutdown(within: .zero) }
    }

    @Test("all vendors of a new composition get events and exposures only if the stage says so")
    func newSide() async throws {
        let moves = Moves()
        let client = try await client(from: moves.old, to: try beside(moves.new), of: moves)
        let session = session(of: client)
        try await session.refresh()
        _ = session.string("f0", default: "none")
        try await track(in: [.off, .dualWrite, .off], by: client)
        #expect(moves.old.exposures.count == 1)
        #expect(warehouse.delivered == [.custom("dualWrite")])
        #expect(moves.new.delivered == [.custom("dualWrite")])
        #expect(try Moves.migration(of: client).report.unsupported == [:])
        await client.shutdown(within: .zero)
    }

    @Test("all vendors of an old composition get no more events when the move is complete")
    func oldSide() async throws {
        let moves = Moves()
        let client = try await client(from: try beside(moves.old), to: moves.new, of: moves)
        try await track(in: [.off, .rampDown, .complete], by: client)
        for vendor in [moves.old, warehouse] {
            #expect(vendor.delivered == [.custom("off"), .custom("rampDown")], "\(vendor.name)")
        }
        #expect(moves.new.delivered == [.custom("rampDown"), .custom("complete")])
        await client.shutdown(within: .zero)
    }

    @Test("a destination beside either vendor gets each event once in every stage, and its ledger balances")
    func shared() async throws {
        let moves = Moves()
        let client = try await client(from: try beside(moves.old), to: try beside(moves.new), of: moves)
        try await track(in: MigrationStage.allCases, by: client)
        #expect(warehouse.delivered == MigrationStage.allCases.map { .custom($0.rawValue) })
        #expect(try await client.ledgers()[warehouse.destination] == Ledger(accepted: 6, delivered: 6))
        let session = session(of: client)
        try await session.refresh()
        _ = session.string("f0", default: "none")
        _ = try await client.flush()
        #expect(warehouse.exposures.count == 1)
        #expect(try Moves.migration(of: client).report.exposures == [.new: 1])
        #expect(try await client.ledgers()[warehouse.destination] == Ledger(accepted: 7, delivered: 7))
        await client.shutdown(within: .zero)
    }

    @Test("exposures are passed on without the mark of the move, and count once")
    func unmarked() async throws {
        let moves = Moves()
        let client = try await client(from: moves.old, to: try beside(moves.new), of: moves, at: .rampDown)
        let session = session(of: client)
        try await session.refresh()
        _ = session.string("f0", default: "none")
        _ = try await client.flush()
        #expect(warehouse.exposures.map { Set($0.assignment.metadata.keys) } == [[ComposedProvider.providerKey]])
        #expect(moves.new.exposures.count == 1)
        #expect(try Moves.migration(of: client).report.exposures == [.new: 1])
        await client.shutdown(within: .zero)
    }

    @Test("unknown consent holds events for all vendors of a composition if the other side needs it")
    func consent() async throws {
        let moves = Moves(needsConsent: true)
        let client = try await client(
            from: moves.old,
            to: try ComposedProvider([ComposedProvider.Vendor(EventsOnly(warehouse))]),
            of: moves,
            at: .dualWrite
        )
        let session = client.session(for: User(id: "ada"))
        try await session.track(.custom("goal"))
        _ = try await client.flush()
        #expect(warehouse.delivered == [])
        try await session.setConsent(.granted)
        try await eventually("it is delivered") { warehouse.delivered.contains(.custom("goal")) }
        await client.shutdown(within: .zero)
    }

    @Test("a kill switch of one vendor of a composition stops its own events alone, and ends with it")
    func killSwitch() async throws {
        let moves = Moves()
        let client = try await client(from: moves.old, to: try beside(moves.new), of: moves, at: .dualWrite)
        moves.new.setDisabled(true)
        let session = session(of: client)
        for name in ["first", "second"] {
            try await session.track(.custom(name))
            _ = try await client.flush(within: .seconds(1), retrying: false)
        }
        #expect(warehouse.delivered == [.custom("first"), .custom("second")])
        #expect(moves.new.delivered == [.custom("first")])
        moves.new.setDisabled(false)
        try await eventually("it is delivered") {
            moves.time.advance(by: .seconds(31))
            _ = try await client.flush(within: .seconds(5), retrying: false)
            return moves.new.delivered.contains(.custom("second"))
        }
        await client.shutdown(within: .zero)
    }
}
