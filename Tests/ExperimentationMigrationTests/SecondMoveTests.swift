import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("A second move from the same vendor")
struct SecondMoveTests {
    private let log = ClientEnvironment().log

    /// Another move, to another vendor or with another salt, on the store of the first one.
    enum Other: CaseIterable, Sendable { case vendor, salt }

    private func client(_ other: Other, _ moves: Moves, _ stage: MigrationStage) async throws -> ExperimentationClient {
        var plan = moves.plan
        plan.stage = stage
        if other == .salt { plan.salt = "another" }
        return try await ExperimentationClient(
            provider: MigratingProvider(from: moves.old, to: new(other, moves), plan: plan),
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
    }

    private func new(_ other: Other, _ moves: Moves) -> InMemoryProvider {
        other == .salt ? moves.new : Moves.vendor("third", 1, isTurned: true, canBeTold: true, false)
    }

    @Test(
        "it begins in its own plan's stage and leads no user, while users keep their variations",
        arguments: Other.allCases,
        [MigrationStage.off, .live]
    )
    func beginsAnew(other: Other, stage: MigrationStage) async throws {
        let moves = Moves()
        let first = try await moves.client()
        try await Moves.migration(of: first).move(to: .live, share: 1)
        var seen: [String] = []
        for user in MovingTests.users { seen.append(try await Moves.color(user, by: first)) }
        #expect(try await Moves.side("user-0", by: first) == .new)
        try await Moves.migration(of: first).noteDealt()
        await first.shutdown(within: .zero)

        let second = try await client(other, moves, stage)
        let migration = try Moves.migration(of: second)
        #expect(migration.stage == stage && migration.share == 0)
        #expect(!migration.standing.hasDealt && migration.standing.alarms == [])
        for (user, color) in zip(MovingTests.users, seen) {
            #expect(try await Moves.side(user, by: second) == .old)
            #expect(try await Moves.color(user, by: second) == color)
        }
        try await migration.move(to: .dualWrite)
        let record = try await MigrationRecord(
            migration.plan,
            from: moves.old,
            to: new(other, moves),
            in: moves.store.state
        )
        #expect(record.stage == .dualWrite)
        #expect(record.sides[.new] == nil)
        await second.shutdown(within: .zero)
    }

    @Test("a user's record keeps the old vendor's variations, and drops what belongs to the other move")
    func person() {
        var person = Person(
            side: .new,
            isKnown: true,
            names: ["name"],
            places: [
                "old/e0": .init(variation: "a", by: .old), "old/e1": .init(variation: "b", by: .new),
                "new/x9": .init(variation: "c", by: .new),
            ],
            outside: ["e2"],
            hasChanged: true,
            move: "first"
        )
        let before = person
        #expect(person.begin("first") == [:])
        #expect(person == before)
        #expect(person.begin("second") == ["e1": "b"])
        #expect(
            person
                == Person(names: ["name"], places: ["old/e0": .init(variation: "a", by: .old)], move: "second")
        )
    }

    @Test("variations that the former new vendor assigned stay, unless the old one has shown another since")
    func handedOver() async throws {
        let state = InMemoryStateStore()
        let ada = Identity(id: "ada")
        let first = People(in: state, of: "first", log: log)
        var person = Person(move: "first")
        for group in ["e0", "e1"] { person.places["old/\(group)"] = .init(variation: "b", by: .new) }
        #expect(try await first.write(person, over: try await first.find(ada), of: ada))
        let second = People(in: state, of: "second", log: log, kept: { _ in ["e0": "a"] })
        #expect(
            try await second.find(ada).person.places
                == ["old/e0": .init(variation: "a", by: .old), "old/e1": .init(variation: "b", by: .old)]
        )
    }

    @Test("a user's record without a name is taken as the current move's, and belongs to it once written")
    func unnamedPerson() async throws {
        let state = InMemoryStateStore()
        let ada = Identity(id: "ada")
        let before = People(in: state, log: log)
        let person = Person(side: .new, isKnown: true)
        #expect(try await before.write(person, over: try await before.find(ada), of: ada))
        let first = People(in: state, of: "first", log: log)
        let found = try await first.find(ada)
        #expect(found.person == Person(side: .new, isKnown: true, move: "first"))
        #expect(try await first.write(found.person, over: found, of: ada))
        #expect(try await People(in: state, of: "second", log: log).find(ada).person == Person(move: "second"))
        #expect(try await before.census(of: "first").sides == [.new: 1])
        #expect(try await before.census(of: "second").sides == [:])
    }

    @Test("a stage without a name is taken as the current move's, and belongs to it once written; so are counts")
    func unnamedStanding() async throws {
        let state = InMemoryStateStore()
        func standings(_ move: String?) -> StandingRecord { StandingRecord(in: state, of: move, log: log) }
        func counts(_ move: String?) -> UnsupportedRecord { UnsupportedRecord(in: state, of: move, log: log) }
        let plan = MigrationPlan()
        _ = try await standings(nil).update(under: PlanInForce(plan)) { $0.stage = .live }
        try await counts(nil).add([.new: 3])
        #expect(try await standings("first").read()?.stage == .live)
        #expect(try await counts("first").read() == [.new: 3])
        _ = try await standings("first").update(under: PlanInForce(plan)) { _ in }
        try await counts("first").add([.new: 2])
        #expect(try await standings("first").read()?.stage == .live)
        #expect(try await counts("first").read() == [.new: 5])
        #expect(try await standings("second").read() == nil)
        #expect(try await counts("second").read() == [:])
    }

    @Test("names of moves differ by account and by salt, even after a zero byte")
    func names() {
        let accounts = ["one", "two"].map { Destination(provider: "new", scope: $0) }
        let names = ["a", "a\u{0}b", "a\u{0}c"].flatMap { salt in
            accounts.map { MigrationPlan(salt: salt).name(to: $0) }
        }
        #expect(Set(names).count == 6)
    }
}
