import Experimentation
import ExperimentationTesting
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Events of a move")
struct EventsOfMovesTests {
    private static func session(_ id: String, of client: ExperimentationClient) -> UserSession {
        client.session(for: User(id: id, consent: .granted))
    }

    @Test(
        "an exposure goes to the vendor that answered, even if the stage has since moved away from it",
        arguments: [(MigrationStage.rampDown, MigrationStage.off), (.off, .complete)]
    )
    func afterTheMove(first: MigrationStage, then: MigrationStage) async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.reassignment) = (first, .accepted) }
        let session = Self.session("ada", of: client)
        try await session.refresh()
        try await Moves.migration(of: client).move(to: then)
        _ = session.string("f0", default: "none")
        _ = try await client.flush()
        #expect(moves.old.exposures.count == (first == .off ? 1 : 0))
        #expect(moves.new.exposures.count == (first == .off ? 0 : 1))
        await client.shutdown(within: .zero)
    }

    @Test("an exposure without a mark is from before the move, so only the old vendor gets it")
    func unmarked() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .rampDown }
        let migration = try Moves.migration(of: client)
        let exposure = Exposure(
            assignment: Assignment(experiment: Experiment(id: "e0"), variation: Variation(id: "a")),
            flagKey: "f0"
        )
        let event = TrackingEvent(.exposure(exposure))
        let sinks = MigrationSide.allCases.map { side in
            migration.party(side).routes.first.map { route in
                MigratingSink(
                    migration: migration,
                    side: side,
                    sink: route.sink,
                    destination: route.destination,
                    heedsKillSwitch: route.heedsKillSwitch
                )
            }
        }
        for stage in [MigrationStage.rampDown, .live] {
            try await migration.move(to: stage)
            #expect((try? sinks[0]?.check(event)) != nil)
            #expect(throws: ExperimentationError.self) { try sinks[1]?.check(event) }
        }
        await client.shutdown(within: .zero)
    }

    @Test("a session that both vendors answer in turn sends exposures to both, even under equal ids")
    func equalIDs() async throws {
        func vendor(_ name: String) -> InMemoryProvider {
            InMemoryProvider(
                name: name,
                experiments: [
                    InMemoryExperiment(
                        Experiment(id: "e"),
                        arms: [
                            .init(Variation(id: "a"), weight: 50, flags: ["f0": "grey"]),
                            .init(Variation(id: "b"), weight: 50, flags: ["f0": "green"]),
                        ]
                    )
                ],
                batching: BatchPolicy(count: 1, interval: .zero)
            )
        }
        let (old, new) = (vendor("old"), vendor("new"))
        var plan = MigrationPlan(
            mapping: Mapping([.init(old: .init("e"), new: .init("e"), variations: ["a": "a", "b": "b"])])
        )
        plan.stage = .shadow
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            environment: ClientEnvironment(time: ManualTime())
        )
        let session = Self.session("ada", of: client)
        for stage in [MigrationStage.shadow, .live, .rampDown, .live] {
            try await Moves.migration(of: client).move(to: stage, share: 1)
            try await session.refresh(force: true)
            for _ in 0..<2 { _ = session.string("f0", default: "none") }
        }
        _ = try await client.flush()
        #expect(old.exposures.count == 1)
        #expect(new.exposures.count == 1)
        await client.shutdown(within: .zero)
    }

    @Test(
        "a kill switch seen in an earlier stage is checked again, even if the vendor no longer leads any user",
        arguments: [false, true]
    )
    func killSwitchEnds(decides: Bool) async throws {
        let moves = Moves()
        var plan = moves.plan
        plan.stage = decides ? .shadow : .dualWrite
        let provider: MigratingProvider =
            decides
            ? MigratingProvider(from: moves.old, to: moves.new, plan: plan)
            : MigratingProvider(from: EventsOnly(moves.old), to: EventsOnly(moves.new), plan: plan)
        let client = try await ExperimentationClient(
            provider: provider,
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        await migration.new.setOff(true)
        if decides { try await migration.move(to: .dualWrite) }
        try await Self.session("ada", of: client).track(.custom("goal"))
        try await eventually("it is delivered to both") {
            moves.time.advance(by: .seconds(31))
            _ = try await client.flush(within: .seconds(5), retrying: false)
            return moves.new.delivered.contains(.custom("goal"))
        }
        #expect(!migration.new.isOff)
        await client.shutdown(within: .zero)
    }

    @Test("an exposure counts in the stage in which it was answered")
    func stageOfTheAnswer() async throws {
        let moves = Moves()
        let client = try await moves.client { $0.stage = .dualWrite }
        moves.old.setVerdict { _ in .outage() }
        let session = Self.session("ada", of: client)
        try await session.refresh()
        _ = session.string("f0", default: "none")
        _ = try await client.flush(within: .seconds(1), retrying: false)
        let migration = try Moves.migration(of: client)
        try await migration.move(to: .shadow)
        moves.old.setVerdict { _ in .delivered }
        try await eventually("it is delivered") {
            moves.time.advance(by: .seconds(600))
            _ = try await client.flush(within: .seconds(5), retrying: false)
            return moves.old.exposures.count == 1
        }
        try await eventually("it is counted") { migration.report.exposures[.old] == 1 }
        #expect(migration.report.stages[.dualWrite]?.exposed["e0"] != nil)
        #expect(migration.report.stages[.shadow]?.exposed["e0"] == nil)
        await client.shutdown(within: .zero)
    }

    @Test("events that a vendor doesn't support are counted if the stage sends them there, even if it takes no events")
    func unsupported() async throws {
        let moves = Moves()
        for isSilent in [true, false] {
            for stage in [MigrationStage.off, isSilent ? .shadow : .dualWrite] {
                let new: any ExperimentationProvider =
                    isSilent ? Asked(moves.new, takesEvents: false) : Taciturn(moves.new)
                let client = try await ExperimentationClient(
                    provider: MigratingProvider(from: moves.old, to: new, plan: MigrationPlan(stage: stage)),
                    environment: ClientEnvironment(time: moves.time)
                )
                try await Self.session("ada", of: client).track(.custom("goal"))
                _ = try await client.flush()
                let unsupported = try Moves.migration(of: client).report.unsupported
                #expect(unsupported[.new, default: 0] == (stage == .off ? 0 : 1), "\(stage)")
                #expect(unsupported[.old] == nil)
                await client.shutdown(within: .zero)
            }
        }
    }

    @Test("counts of events that a vendor doesn't support add up in the store over runs, and status reads them")
    func unsupportedInTheStore() async throws {
        let moves = Moves()
        let plan = MigrationPlan(stage: .dualWrite)
        for run in 1...3 {
            let client = try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: Taciturn(moves.new), plan: plan),
                store: moves.store,
                environment: ClientEnvironment(time: moves.time)
            )
            let session = Self.session("ada", of: client)
            try await session.track(.custom("goal"))
            try await session.track(.goalCompleted("goal"))
            _ = try await client.flush()
            await client.shutdown(within: .zero)
            let record = try await MigrationRecord(plan, from: moves.old, in: moves.store.state)
            #expect(record.unsupported == [.new: run])
        }
    }

    @Test("a link goes only to the vendors that the stage sends events to", arguments: MigrationStage.allCases)
    func links(stage: MigrationStage) async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.reassignment) = (stage, .accepted) }
        let session = Self.session("visit", of: client)
        try await session.link(to: Identity(id: "ada", isAuthenticated: true))
        #expect(moves.old.record.links.count == (stage == .complete ? 0 : 1))
        #expect(moves.new.record.links.count == (stage == .off ? 0 : 1))
        await client.shutdown(within: .zero)
    }
}

/// An in-memory vendor that knows no custom events.
private struct Taciturn: ExperimentationProvider {
    let vendor: InMemoryProvider
    var name: String { vendor.name }
    var scope: String { vendor.scope }
    var capabilities: Set<Capability> { vendor.capabilities }

    init(_ vendor: InMemoryProvider) { self.vendor = vendor }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await vendor.start(in: context)
        roles.events = roles.events.map { Sink(sink: $0) }
        return roles
    }

    private struct Sink: EventSink {
        let sink: any EventSink
        var batching: BatchPolicy { sink.batching }
        func check(_ event: TrackingEvent) throws(ExperimentationError) {
            if event.type == "custom" { throw ExperimentationError(.unsupported, "no custom events") }
        }
        func deliver(_ batch: [Envelope]) async -> DeliveryReport { await sink.deliver(batch) }
    }
}
