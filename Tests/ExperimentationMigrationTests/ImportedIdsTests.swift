import Experimentation
import ExperimentationTesting
import Testing

@testable import ExperimentationMigration

@Suite("Ids of imported users")
struct ImportedIdsTests {
    /// A visitor who was anonymous before, and who comes again on another device and without one.
    private static let lines = [
        #"{"version":1,"data":{"visitorId":"ada","anonymousId":"visit","assignationHistory":{"e0":"b"}}}"#,
        #"{"version":1,"data":{"visitorId":"ada","anonymousId":null,"assignationHistory":{"e0":"a","e1":"a"}}}"#,
        #"{"version":1,"data":{"visitorId":"ada","anonymousId":"phone","assignationHistory":{"e1":"b"}}}"#,
    ]

    private static let places = ["e0": "b", "e1": "a"]

    private func people(_ moves: Moves) -> People {
        let environment = ClientEnvironment()
        return People(
            in: ProviderContext(of: moves.old, in: moves.store.state, environment).state,
            log: environment.log
        )
    }

    private func expectOne(_ moves: Moves) async throws {
        for id in ["ada", "visit", "phone"] {
            let found = try await people(moves).find(Identity(id: id)).person
            #expect(found.places.mapValues(\.variation) == ["old/e0": "b", "old/e1": "a"], "\(id)")
        }
        #expect(try await people(moves).census().all == 1)
    }

    @Test(
        "a visitor's both ids are read",
        arguments: [("visit", "visit", "ada"), ("", "ada", nil), ("ada", "ada", nil)]
    )
    func reads(anonymous: String, user: String, id: String?) throws {
        var reader = AssignmentReader(.visitorCache)
        let line = #"{"data":{"visitorId":"ada","anonymousId":"\#(anonymous)","assignationHistory":{"e0":"a"}}}"#
        #expect(try reader.read(Array(line.utf8)) == [.init(user: user, id: id, variations: ["e0": "a"])])
    }

    @Test("an imported visitor who comes back by id alone is found")
    func byID() async throws {
        let moves = Moves()
        _ = try await ImportTests.run([Self.lines[0]], .visitorCache, moves)
        let client = try await moves.client { ($0.stage, $0.share) = (.live, 1) }
        #expect(try await Moves.color("ada", by: client) == "green")
        #expect(try await Moves.color("visit", by: client) == "green")
        await client.shutdown(within: .zero)
        #expect(try await people(moves).census().all == 1)
    }

    @Test("lines of one visitor by several ids make one record, in one import or in several")
    func oneRecord() async throws {
        let together = Moves(experiments: 2)
        let report = try await ImportTests.run(Self.lines, .visitorCache, together)
        #expect([report.users, report.taken, report.known] == [1, 2, 2])
        try await expectOne(together)
        let apart = Moves(experiments: 2)
        for line in Self.lines { _ = try await ImportTests.run([line], .visitorCache, apart) }
        try await expectOne(apart)
    }

    @Test("importing again adds the id to a record that was imported without it")
    func importedBefore() async throws {
        let moves = Moves()
        _ = try await ImportTests.run(["unit,experiment,variant", "visit,e0,b"], .csv, moves)
        #expect(try await people(moves).find(Identity(id: "ada")).written == nil)
        #expect(try await ImportTests.run([Self.lines[0]], .visitorCache, moves).known == 1)
        #expect(try await people(moves).find(Identity(id: "ada")).person.places.count == 1)
        #expect(try await people(moves).census().all == 1)
    }

    @Test("a line that names two ids is merged with the batch's lines for either id")
    func joins() {
        var batch = ImportBatch()
        let place = Person.Place(variation: "a", by: .old)
        batch.add(place, for: "old/e0", of: "visit", nil)
        batch.add(place, for: "old/e1", of: "ada", nil)
        batch.add(place, for: "old/e0", of: "ben", nil)
        #expect(!batch.hasSecondIDs)
        batch.add(place, for: "old/e2", of: "visit", "ada")
        batch.add(place, for: "old/e3", of: "ada", nil)
        #expect(batch.count == 5 && batch.hasSecondIDs)
        #expect(
            batch.users == [
                [
                    .init(user: "visit", places: ["old/e0": place]),
                    .init(user: "ada", places: ["old/e1": place, "old/e3": place]),
                    .init(user: "visit", id: "ada", places: ["old/e2": place]),
                ],
                [],
                [.init(user: "ben", places: ["old/e0": place])],
            ]
        )
    }

    @Test("a table in memory finds a visitor by either id, as one user")
    func table() async throws {
        let moves = Moves(experiments: 2)
        var rest = Self.lines[...]
        let (table, report) = try await AssignmentImport.table(moves.plan, as: .visitorCache) {
            rest.popFirst().map { Array($0.utf8) }
        }
        for id in ["ada", "visit", "phone"] { #expect(table.variations(of: id) == Self.places) }
        #expect(table.count == 1)
        #expect([report.users, report.taken, report.known] == [1, 2, 2])
    }

    @Test("a table with many visitors of two ids keeps them apart")
    func largeTable() {
        var table = AssignmentTable(Moves.mapping(1))
        for number in 0..<1_000 {
            let variations = ["e0": number.isMultiple(of: 3) ? "a" : "b"]
            _ = table.add(.init(user: "visit-\(number)", id: "user-\(number)", variations: variations))
        }
        #expect(table.count == 1_000)
        for number in 0..<1_000 {
            let expected = number.isMultiple(of: 3) ? "a" : "b"
            #expect(table.variation(of: "visit-\(number)", inExperiment: 0) == expected)
            #expect(table.variation(of: "user-\(number)", inExperiment: 0) == expected)
        }
    }
}
