import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Plans that begin while the store can't be read")
struct UnreadablePlansTests {
    /// What an instance does first once the store can be read.
    enum First: CaseIterable { case decision, move }

    @Test(
        "a plan that would take users from the new vendor is held as soon as the store is read",
        arguments: First.allCases
    )
    func takesBack(first: First) async throws {
        let moves = Moves(oldCanBeTold: false)
        moves.old.setDisabled(true)
        let former = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        // Without the old vendor's answer, the new one assigns the user.
        let color = try await Moves.color("ada", by: former)
        moves.old.setDisabled(false)
        await former.shutdown(within: .zero)

        let client = try await Self.clientWithoutStore(moves, MigrationStage.off)
        let migration = try Moves.migration(of: client)
        if first == .move {
            let error = await #expect(throws: ExperimentationError.self) { try await migration.move(to: .shadow) }
            #expect(error?.code == .configuration)
        }
        #expect(try await Moves.color("ada", by: client) == color)
        #expect(migration.held.count == 1 && migration.stage == .live)
        #expect(try await moves.standing()?.stage == .live)
        await client.shutdown(within: .zero)
    }

    @Test("a plan without an obstacle is followed as soon as the store is read")
    func followed() async throws {
        let moves = Moves()
        let former = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        let color = try await Moves.color("ada", by: former)
        await former.shutdown(within: .zero)
        let client = try await Self.clientWithoutStore(moves, MigrationStage.shadow)
        #expect(try await Moves.color("ada", by: client) == color)
        #expect(try Moves.migration(of: client).stage == .shadow)
        await client.shutdown(within: .zero)
    }

    @Test("a plan that couldn't be written is written later, so that an earlier one follows it and denials reach both")
    func written() async throws {
        let moves = Moves()
        try await moves.client().shutdown(within: .zero)
        let isAway = Mutex(true)
        let store = RacingStore(
            moves.store,
            before: { () async throws(ExperimentationError) in
                if isAway.withLock({ $0 }) { throw ExperimentationError(.store, "The disk is full.") }
            }
        )
        var plan = moves.plan
        plan.stage = .dualWrite
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
            store: store.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        isAway.withLock { $0 = false }
        moves.time.advance(by: .seconds(3))
        let ada = User(id: "ada", consent: .granted)
        try await client.track(.custom("goal"), for: ada)
        _ = try await client.flush()
        #expect(moves.new.delivered == [.custom("goal")])
        await client.shutdown(within: .zero)

        let earlier = try await moves.client()
        #expect(try Moves.migration(of: earlier).stage == .dualWrite)
        try await earlier.setConsent(.denied, for: ada)
        _ = try await earlier.flush()
        #expect(moves.new.delivered.last == TrackingEvent(.consentChanged(granted: false)))
        await earlier.shutdown(within: .zero)
    }

    @Test("a denial from before the stage was read reaches both vendors, because either may have the user's events")
    func deniedUnread() async throws {
        let moves = Moves()
        let former = try await moves.client()
        for stage in [MigrationStage.dualWrite, .off] { try await Moves.migration(of: former).move(to: stage) }
        await former.shutdown(within: .zero)
        let client = try await Self.clientWithoutStore(moves, .off)
        try await client.setConsent(.denied, for: User(id: "ada"))
        _ = try await client.flush()
        let signal = TrackingEvent(.consentChanged(granted: false))
        #expect(moves.old.delivered == [signal] && moves.new.delivered == [signal])
        await client.shutdown(within: .zero)
    }

    /// How the first event after the start comes.
    enum Way: CaseIterable { case session, user, grant }

    @Test("the first events follow the stored stage once the store can be read", arguments: Way.allCases)
    func firstEvent(way: Way) async throws {
        let moves = Moves()
        let former = try await moves.client()
        try await Moves.migration(of: former).move(to: .dualWrite)
        await former.shutdown(within: .zero)
        let client = try await Self.clientWithoutStore(moves, .off)
        let ada = User(id: "ada", consent: .granted)
        var event = TrackingEvent.custom("goal")
        switch way {
        case .session: try await client.session(for: ada).track(event)
        case .user: try await client.track(event, for: ada)
        case .grant:
            event = TrackingEvent(.consentChanged(granted: true))
            try await client.setConsent(.granted, for: ada)
        }
        _ = try await client.flush()
        #expect(moves.old.delivered == [event])
        #expect(moves.new.delivered == [event])
        #expect(try await client.ledgers().values.allSatisfy { $0.isBalanced && $0.accepted == 1 })
        await client.shutdown(within: .zero)
    }

    @Test("an event isn't accepted while it is unknown which vendors get it; an exposure goes to the old vendor")
    func stillAway() async throws {
        let moves = Moves()
        let former = try await moves.client()
        try await Moves.migration(of: former).move(to: .dualWrite)
        await former.shutdown(within: .zero)
        let isAway = Mutex(true)
        let store = RacingStore(
            moves.store,
            afterReads: { () async throws(ExperimentationError) in
                if isAway.withLock({ $0 }) { throw ExperimentationError(.store, "The database is locked.") }
            }
        )
        let client = try await moves.time.passing {
            try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
                store: store.clientStore,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        let session = client.session(for: User(id: "ada", consent: .granted))
        let exposure = TrackingEvent(
            .exposure(Exposure(assignment: Assignment(experiment: Experiment(id: "e0"), variation: Variation(id: "a"))))
        )
        try await session.track(exposure)
        let error = await #expect(throws: ExperimentationError.self) { try await session.track(.custom("goal")) }
        #expect(error?.code == .store)
        // The next call notifies the vendors of the user's choice.
        await #expect(throws: ExperimentationError.self) {
            try await client.session(for: User(id: "bob")).setConsent(.granted)
        }
        isAway.withLock { $0 = false }
        try await session.track(.custom("again"))
        _ = try await client.flush()
        #expect(moves.old.delivered == [exposure, .custom("again")])
        #expect(moves.new.delivered == [.custom("again")])
        await client.shutdown(within: .zero)
    }

    /// Starts a client while the store can't be read, which it can afterwards.
    private static func clientWithoutStore(
        _ moves: Moves,
        _ stage: MigrationStage
    ) async throws -> ExperimentationClient {
        let isAway = Mutex(true)
        let store = RacingStore(
            moves.store,
            afterReads: { () async throws(ExperimentationError) in
                if isAway.withLock({ $0 }) { throw ExperimentationError(.store, "The database is locked.") }
            }
        )
        var plan = moves.plan
        plan.stage = stage
        let client = try await moves.time.passing { [plan] in
            try await ExperimentationClient(
                provider: MigratingProvider(from: moves.old, to: moves.new, plan: plan),
                store: store.clientStore,
                environment: ClientEnvironment(time: moves.time)
            )
        }
        isAway.withLock { $0 = false }
        return client
    }
}
