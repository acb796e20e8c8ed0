import Experimentation
import ExperimentationTesting
import Synchronization
import Testing

@testable import ExperimentationMigration

@Suite("Users whose records are removed")
struct RemovedUsersTests {
    /// The state of a move alone in a store, and its records of users.
    private struct Records {
        let state = InMemoryStateStore()
        let people: People

        init() { people = People(in: state, log: ClientEnvironment().log) }

        /// Writes a user's record, as a decision does.
        func write(_ identity: Identity, side: MigrationSide = .new) async throws {
            let found = try await people.find(identity)
            var person = found.person
            person.side = side
            #expect(try await people.write(person, over: found, of: identity))
        }

        var keys: [String] { get async throws { try await state.keys(beginningWith: "") } }
    }

    @Test("the records of all devices of a user are removed, in whichever order they were created")
    func severalDevices() async throws {
        let records = Records()
        for device in ["one", "two", "three"] {
            // On each device before signing in, so that each has a record of its own.
            try await records.write(Identity(id: device))
            try await records.write(Identity(id: "ada", anonymousID: device))
        }
        #expect(try await records.people.census().all == 3)
        try await records.people.forget("ada")
        #expect(try await records.keys == [])
    }

    @Test("if two people share a device, the other one's record on another device stays, and is still found")
    func sharedDevice() async throws {
        let records = Records()
        try await records.write(Identity(id: "bob", anonymousID: "own"))
        try await records.write(Identity(id: "shared"), side: .old)
        for id in ["bob", "ada"] { try await records.write(Identity(id: id, anonymousID: "shared"), side: .old) }
        try await records.people.forget("ada")
        #expect(try await records.people.find(Identity(id: "bob")).person.side == .new)
        #expect(try await records.people.census().all == 1)
        try await records.people.forget("bob")
        #expect(try await records.keys == [])
    }

    @Test(
        "a denial during a decision for the user leaves no record, whether or not the user had one",
        arguments: [false, true]
    )
    func whileDeciding(hadRecord: Bool) async throws {
        let moves = Moves()
        let interruption = Interruption()
        let racing = RacingStore(moves.store, before: interruption.happen)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        if hadRecord { _ = try await client.decisions(for: User(id: "ada", consent: .granted)) }
        let user = User(id: "ada", anonymousID: "visit", consent: .granted)
        interruption.arm { () async throws(ExperimentationError) in try await client.setConsent(.denied, for: user) }
        let decided = try await client.decisions(for: user)
        #expect(decided.decisions.assignments.count == 1, "the answer itself is as good as before")
        #expect(interruption.hasHappened)
        #expect(try await Self.left(in: moves) == [])
        await client.shutdown(within: .zero)
    }

    @Test("a session that hasn't learned of a denial leaves no record, and no other vendor learns of its user")
    func deniedElsewhere() async throws {
        let moves = Moves()
        let provider = MigratingProvider(from: moves.old, to: Asked(moves.new), plan: moves.plan)
        let client = try await ExperimentationClient(
            provider: provider,
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        let migration = try Moves.migration(of: client)
        let ada = User(id: "ada", consent: .granted)
        let session = client.session(for: ada)
        try await session.refresh()
        try await migration.move(to: .shadow)
        try await client.setConsent(.denied, for: ada)
        try await session.refresh()
        #expect(session.string("f0", default: "none") != "none")
        #expect(try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).people == 0)
        #expect(!migration.isComparing && moves.new.record.fetches == 0)
        await client.shutdown(within: .zero)
    }

    @Test("a denial during a decision for the user leaves no record, even if the store fails while it is being written")
    func whileFailing() async throws {
        let moves = Moves()
        let interruption = Interruption()
        let racing = RacingStore(moves.store, before: interruption.happen)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let user = User(id: "ada", anonymousID: "visit", consent: .granted)
        // The alias is written first, then the record.
        interruption.arm {
            interruption.arm { () async throws(ExperimentationError) in
                try await client.setConsent(.denied, for: user)
                throw ExperimentationError(.store, "The disk is full.")
            }
        }
        let decided = try await client.decisions(for: user)
        #expect(decided.decisions.assignments.count == 1, "the answer itself is as good as before")
        #expect(try await Self.left(in: moves) == [])
        await client.shutdown(within: .zero)
    }

    @Test("the record that a decision has written is removed, even if another decision has removed its aliases")
    func withoutAlias() async throws {
        let records = Records()
        let ada = Identity(id: "ada", anonymousID: "visit")
        try await records.write(ada)
        try await records.state.removeAll(beginningWith: "migration/aliases/")
        try await records.people.withdraw(ada, under: StableKey(ada).digest)
        #expect(try await records.keys == [])
    }

    @Test("a record that couldn't be removed after a denial is removed with the next decision for any user")
    func removedLater() async throws {
        let moves = Moves()
        let interruption = Interruption()
        let isFull = Mutex(false)
        let racing = RacingStore(moves.store, before: interruption.happen) { () async throws(ExperimentationError) in
            if isFull.withLock({ $0 }) { throw ExperimentationError(.store, "The disk is full.") }
        }
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let user = User(id: "ada", consent: .granted)
        interruption.arm { () async throws(ExperimentationError) in
            try await client.setConsent(.denied, for: user)
            isFull.withLock { $0 = true }
        }
        await #expect(throws: ExperimentationError.self) { try await client.decisions(for: user) }
        isFull.withLock { $0 = false }
        #expect(try await Self.left(in: moves).count == 1)
        _ = try await client.decisions(for: User(id: "ben", consent: .denied))
        #expect(try await Self.left(in: moves) == [])
        await client.shutdown(within: .zero)
    }

    @Test("a decision from before a denial doesn't remove the record of a decision after the consent that followed")
    func decidedSince() async throws {
        let moves = Moves()
        let interruption = Interruption()
        let racing = RacingStore(moves.store, before: interruption.happen)
        let client = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: racing.clientStore,
            environment: ClientEnvironment(time: moves.time)
        )
        let people = try Moves.migration(of: client).people
        let user = User(id: "ada", anonymousID: "visit", consent: .granted)
        interruption.arm { () async throws(ExperimentationError) in
            for consent in [Consent.denied, .granted] { try await client.setConsent(consent, for: user) }
            let found = try await people.find(user.identity)
            var person = found.person
            person.side = .new
            _ = try await people.write(person, over: found, of: user.identity)
        }
        _ = try await client.decisions(for: user)
        #expect(try await people.find(Identity(id: "ada")).person.side == .new)
        await client.shutdown(within: .zero)
    }

    /// What is left of users in the store of a move.
    private static func left(in moves: Moves) async throws -> Set<String> {
        let state = ProviderContext(of: moves.old, in: moves.store.state, ClientEnvironment()).state
        return Set(try await state.keys(beginningWith: "migration/")).subtracting([
            "migration/stage", "migration/rules",
        ])
    }

    @Test("a user who consents again during a decision has a record with the next decision")
    func consentsAgain() async throws {
        let moves = Moves()
        let client = try await moves.client()
        let user = User(id: "ada", consent: .granted)
        for consent in [Consent.denied, .granted] { try await client.setConsent(consent, for: user) }
        _ = try await client.decisions(for: user)
        #expect(try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).people == 1)
        await client.shutdown(within: .zero)
    }
}
