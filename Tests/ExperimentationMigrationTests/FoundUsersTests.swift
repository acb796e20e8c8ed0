import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Users who are found again")
struct FoundUsersTests {
    private func people(in state: any StateStore) -> People { People(in: state, log: ClientEnvironment().log) }

    private static let place = ["old/e0": Person.Place(variation: "a", by: .old)]

    @Test("a record under the id alone is found once an anonymous id comes too, and later by that one alone")
    func idFirst() async throws {
        let people = people(in: InMemoryStateStore())
        _ = try await people.add(Self.place, of: "ada", mayHaveAlias: false)
        let both = Identity(id: "ada", anonymousID: "visit")
        var found = try await people.find(both)
        #expect(found.person.places == Self.place)
        found.person.side = .new
        #expect(try await people.write(found.person, over: try await people.find(both), of: both))
        #expect(try await people.find(Identity(id: "visit")).person.side == .new)
        #expect(try await people.find(Identity(id: "ada")).person.side == .new)
        try await people.forget("visit")
        #expect(try await people.census().all == 0)
    }

    @Test("a place imported in memory under the id is found once an anonymous id comes too")
    func importedInMemory() async throws {
        let people = People(in: InMemoryStateStore(), log: ClientEnvironment().log) { user in
            user == "ada" ? ["e0": "a"] : [:]
        }
        #expect(try await people.find(Identity(id: "ada", anonymousID: "visit")).person.places == Self.place)
    }

    @Test("a user known only by id keeps side and variation when the app begins to send an anonymous id")
    func keepsSide() async throws {
        let moves = Moves()
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 0.5) }
        for number in 0..<20 {
            let side = try await Moves.side("ada-\(number)", by: client)
            let color = try await Moves.color("ada-\(number)", by: client)
            #expect(try await Moves.side("ada-\(number)", anonymous: "device-\(number)", by: client) == side)
            #expect(try await Moves.color("ada-\(number)", anonymous: "device-\(number)", by: client) == color)
        }
        await client.shutdown(within: .zero)
    }

    @Test("a process killed at any operation leaves no record that names a missing alias", arguments: 1...8)
    func killedBetween(operations: Int) async throws {
        let store = ClientStore.inMemory()
        let mortal = MortalStore(store, dyingAfter: operations)
        let both = Identity(id: "ada", anonymousID: "visit")
        let dying = people(in: mortal.clientStore.state)
        var person = Person()
        person.side = .new
        if let found = try? await dying.find(both) { _ = try? await dying.write(person, over: found, of: both) }
        let people = people(in: store.state)
        guard try await people.find(Identity(id: "visit")).person.side == .new else { return }
        #expect(try await people.find(Identity(id: "ada")).person.side == .new)
    }

    /// Two clients' vendor and store, after the client alone has shown users their variations: the vendor now assigns
    /// every other user the other variation.
    private static func afterAlone() async throws -> (moves: Moves, seen: [String: String]) {
        let moves = Moves()
        let alone = try await ExperimentationClient(
            provider: moves.old,
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        var seen: [String: String] = [:]
        for user in MovingTests.users { seen[user] = try await Moves.color(user, by: alone) }
        await alone.shutdown(within: .zero)
        moves.old.replace(
            flags: [],
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "e0"),
                    arms: [
                        .init(Variation(id: "b"), weight: 50, flags: ["f0": "green"]),
                        .init(Variation(id: "a", isControl: true), weight: 50, flags: ["f0": "grey"]),
                    ]
                )
            ]
        )
        return (moves, seen)
    }

    @Test("variations and rules stored before the move was wrapped around the vendor remain in use")
    func keptBefore() async throws {
        let (moves, seen) = try await Self.afterAlone()
        moves.old.setFailure(ExperimentationError(.transport, "away"))
        let wrapped = try await moves.client()
        #expect(try await Moves.color("user-0", by: wrapped) == seen["user-0"], "by the rules of the client alone")
        moves.old.setFailure(nil)
        moves.time.advance(by: .seconds(5))
        for user in MovingTests.users { #expect(try await Moves.color(user, by: wrapped) == seen[user], "\(user)") }
        await wrapped.shutdown(within: .zero)
    }

    @Test("what the client has stored isn't lost if the store fails while it is being read", arguments: [false, true])
    func keptBeforeUnread(isAway: Bool) async throws {
        let (moves, seen) = try await Self.afterAlone()
        if isAway { moves.old.setFailure(ExperimentationError(.transport, "away")) }
        let state = UnreadableState(moves.store.state, failing: isAway ? "/ruleset" : "/assignments/")
        let wrapped = try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: moves.new, plan: moves.plan),
            store: ClientStore(outbox: moves.store.outbox, state: state),
            environment: ClientEnvironment(time: moves.time)
        )
        await #expect(throws: ExperimentationError.self) { try await Moves.color("user-0", by: wrapped) }
        #expect(try await Moves.color("user-0", by: wrapped) == seen["user-0"])
        await wrapped.shutdown(within: .zero)
    }
}
