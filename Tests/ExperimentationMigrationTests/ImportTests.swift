import Experimentation
import ExperimentationMigration
import ExperimentationTesting
import Testing

@Suite("Imports")
struct ImportTests {
    static let samples: [(AssignmentFormat, [String])] = [
        (.visitorCache, [#"{"version":1,"data":{"visitorId":"u","assignationHistory":{"e0":"a"}}}"#]),
        (.growthbook, [#"{"attributeName":"id","attributeValue":"u","assignments":{"e0__0":"a"}}"#]),
        (.optimizely, [#"{"user_id":"u","experiment_bucket_map":{"e0":{"variation_id":"a"}}}"#]),
        (.statsig, [#"{"u:userID":{"e0":{"value":true,"rule_id":"r","group_name":"a"}}}"#]),
        (.csv, ["unit type,unit,experiment,variant,first exposure", #"id,"u",e0,a,2026-01-01"#]),
    ]

    static func run(
        _ lines: [String],
        _ format: AssignmentFormat,
        _ moves: Moves
    ) async throws -> ImportReport {
        var rest = lines[...]
        let work = AssignmentImport(moves.plan, as: format, from: moves.old, into: moves.store.state)
        return try await work.run { rest.popFirst().map { Array($0.utf8) } }
    }

    @Test("every format is read, and what was imported is what the user sees with the new vendor", arguments: samples)
    func formats(format: AssignmentFormat, lines: [String]) async throws {
        for (variation, color) in [("a", "grey"), ("b", "green")] {
            let moves = Moves()
            let own = lines.map {
                $0.replacing("\"a\"", with: "\"\(variation)\"").replacing(",a,", with: ",\(variation),")
            }
            let report = try await Self.run(own, format, moves)
            #expect([report.users, report.taken, report.known] == [1, 1, 0])
            #expect(report.refused == [:])
            let client = try await moves.client { plan in
                plan.stage = .live
                plan.share = 1
            }
            #expect(try await Moves.color("u", by: client) == color)
            await client.shutdown(within: .zero)
            #expect(try await Self.run(own, format, moves).known == 1)
        }
    }

    @Test("a line that is cut, and ids that don't exist, are told and left out; the rest is taken")
    func faults() async throws {
        let moves = Moves()
        let report = try await Self.run(
            [
                #"{"user_id":"u1","experiment_bucket_map":{"e0":{"variation_id":"a"},"gone":{"variation_id":"a"}}}"#,
                #"{"user_id":"u2","experiment_bucket_map":{"e0":{"variation_id":"z"}}}"#,
                #"{"user_id":"u3","experiment_buck"#,
            ],
            .optimizely,
            moves
        )
        #expect([report.lines, report.taken] == [3, 1])
        #expect(report.refused.count == 3)
        #expect(report.refused["no experiment \"gone\" is mapped"] == 1)
        #expect(report.refused["no variation \"z\" of \"e0\" is mapped"] == 1)
    }

    @Test(
        "a file of another format is refused at its first line, and nothing is taken",
        arguments: AssignmentFormat.allCases
    )
    func otherFormat(format: AssignmentFormat) async throws {
        let moves = Moves()
        let error = await #expect(throws: ExperimentationError.self) { try await Self.run(["hello"], format, moves) }
        #expect(error?.code == .invalidArgument)
        #expect(try await moves.store.state.keys(beginningWith: "").isEmpty)
    }
}
