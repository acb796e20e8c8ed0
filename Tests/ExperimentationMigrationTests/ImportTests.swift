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

    @Test("every format is read, and users see their imported variations with the new vendor", arguments: samples)
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

    @Test("reasons are few and name no user, however many unknown ids there are")
    func fewReasons() async throws {
        let lines = (0..<50).map { #"{"person-\#($0)":{"gone-\#($0)":{"value":true,"group_name":"a"}}}"# }
        let others = (0..<50).map { #"{"person-\#($0):userID":{"gone-\#($0)":{"value":true,"group_name":7}}}"# }
        let more = (0..<50).map { #"{"person-\#($0):userID":{"gone-\#($0)":{"value":true,"group_name":"a"}}}"# }
        let good = #"{"u:userID":{"e0":{"group_name":"a"}}}"#
        let report = try await Self.run([good] + lines + others + more, .statsig, Moves())
        #expect(report.refused.count == 3)
        #expect(report.refused.values.reduce(0, +) == 150)
        #expect(!report.refused.keys.contains { $0.contains("person") || $0.contains("gone") })
        #expect(!report.examples.contains { $0.contains("person") })
    }

    @Test("a group without a name is known by its rule, and a visitor without a history has no places")
    func missingMembers() async throws {
        let sticky = #"{"u:userID":{"e0":{"value":true,"rule_id":"a","group_name":null}}}"#
        #expect(try await Self.run([sticky], .statsig, Moves()).taken == 1)
        let visitor = #"{"version":1,"data":{"visitorId":"u"}}"#
        let report = try await Self.run([visitor], .visitorCache, Moves())
        #expect(report.refused == [:])
        #expect(report.taken == 0)
    }

    @Test("truncated lines and unknown ids are reported and left out; the rest is imported")
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
        #expect(report.refused["the experiment isn't mapped"] == 1)
        #expect(report.refused["the variation of \"e0\" isn't mapped"] == 1)
    }

    @Test("lines are reported by their numbers in the input, and a line that is too long is refused as such")
    func numbers() async throws {
        let moves = Moves()
        let work = AssignmentImport(moves.plan, as: .csv, from: moves.old, into: moves.store.state)
        func lines() -> [ImportLine] {
            [(3, "unit,experiment,variant"), (4, "u1,e0,a"), (7, "u2,gone,a"), (9, nil), (12, "u3"), (13, "u4,e0,b")]
                .map { number, text in ImportLine(number: number, bytes: text.map { Array($0.utf8) }) }
        }
        var rest = lines()[...]
        let report = try await work.importLines { rest.popFirst() }
        #expect([report.lines, report.taken] == [6, 2])
        #expect(
            report.examples == [
                "line 7: no experiment \"gone\" is mapped", "line 9: is too long",
                "line 12: expected 3 fields, found 1",
            ]
        )
        #expect(report.refused == ["the experiment isn't mapped": 1, "is too long": 1, "too few fields": 1])
        for first in [ImportLine(number: 2, bytes: nil), ImportLine(number: 2, bytes: Array("hello".utf8))] {
            rest = [first] + lines()
            let problem = first.bytes == nil ? "is too long" : "expected a first line with unit, experiment and variant"
            await #expect(
                throws: ExperimentationError(.invalidArgument, "line 2 isn't of the format csv: \(problem)")
            ) {
                try await work.importLines { rest.popFirst() }
            }
        }
    }

    @Test("an import resumes by the count of lines that it has read, whatever their numbers in the input")
    func resumesBesideBlankLines() async throws {
        let moves = Moves()
        let work = AssignmentImport(moves.plan, as: .csv, from: moves.old, into: moves.store.state)
        // Every second line of the input is blank.
        func lines() -> ArraySlice<ImportLine> {
            let texts = ["unit,experiment,variant"] + (0..<2_000).map { "u\($0),\($0 == 1_990 ? "gone" : "e0"),a" }
            return texts.enumerated().map { ImportLine(number: 2 * $0 + 2, bytes: Array($1.utf8)) }[...]
        }
        struct Cut: Error {}
        var rest = lines()
        await #expect(throws: Cut.self) {
            try await work.importLines(named: "file.csv") {
                if rest.count < 700 { throw Cut() }
                return rest.popFirst()
            }
        }
        rest = lines()
        let report = try await work.importLines(named: "file.csv") { rest.popFirst() }
        #expect([report.lines, report.resumedAfter, report.taken, report.known] == [2_001, 1_025, 975, 0])
        #expect(report.examples == ["line 3984: no experiment \"gone\" is mapped"])
    }

    @Test("an interrupted import resumes, and ends as if it hadn't been interrupted")
    func resumes() async throws {
        let lines = ["unit,experiment,variant"] + (0..<2_000).map { "u\($0),e0,\($0 % 2 == 0 ? "a" : "b")" }
        let moves = Moves()
        let work = AssignmentImport(moves.plan, as: .csv, from: moves.old, into: moves.store.state)
        struct Cut: Error {}
        var rest = lines[...]
        await #expect(throws: Cut.self) {
            try await work.run(named: "file.csv") {
                if rest.count < 700 { throw Cut() }
                return rest.popFirst().map { Array($0.utf8) }
            }
        }
        rest = lines[...]
        let report = try await work.run(named: "file.csv") { rest.popFirst().map { Array($0.utf8) } }
        #expect(report.lines == 2_001)
        #expect(report.resumedAfter == 1_025)
        #expect([report.taken, report.known] == [976, 0])
        #expect(try await MigrationRecord(moves.plan, from: moves.old, in: moves.store.state).people == 2_000)
        rest = lines[...]
        let again = try await work.run(named: "file.csv") { rest.popFirst().map { Array($0.utf8) } }
        #expect([again.resumedAfter, again.taken, again.known] == [0, 0, 2_000])
    }

    @Test("of several places in one experiment the first one counts, within a batch and across batches")
    func firstCounts() async throws {
        let moves = Moves()
        let report = try await Self.run(["unit,experiment,variant", "u,e0,b", "u,e0,a"], .csv, moves)
        #expect([report.users, report.taken, report.known] == [1, 1, 1])
        let client = try await moves.client { plan in
            plan.stage = .live
            plan.share = 1
        }
        #expect(try await Moves.color("u", by: client) == "green")
        await client.shutdown(within: .zero)
    }

    @Test("of several bucket versions of a sticky document the newest counts, in any order")
    func newestVersion() throws {
        let members = (0..<12).map { #""e0__\#($0)":"\#($0 == 11 ? "b" : "a")""# }.joined(separator: ",")
        let line = #"{"attributeName":"id","attributeValue":"u","assignments":{\#(members)}}"#
        var reader = AssignmentReader(.growthbook)
        #expect(try reader.read(Array(line.utf8)) == [.init(user: "u", variations: ["e0": "b"])])
    }

    @Test("a table holds the lines' assignments, and users without a record begin with them")
    func table() async throws {
        let moves = Moves(experiments: 2)
        let lines =
            ["unit,experiment,variant"]
            + (0..<500).flatMap { ["u\($0),e0,\($0 % 2 == 0 ? "a" : "b")", "u\($0),e1,b", "u\($0),e0,a"] }
            + ["u1,gone,a", "u1,e0,z", "cut"]
        var rest = lines[...]
        let (table, report) = try await AssignmentImport.table(moves.plan, as: .csv) {
            rest.popFirst().map { Array($0.utf8) }
        }
        #expect(table.count == 500)
        #expect([report.users, report.taken, report.known] == [500, 1_000, 500])
        #expect(report.refused.values.reduce(0, +) == 3)
        for number in 0..<500 {
            #expect(table.variations(of: "u\(number)") == ["e0": number % 2 == 0 ? "a" : "b", "e1": "b"])
            #expect(table.variation(of: "u\(number)", inExperiment: 1) == "b")
        }
        #expect(table.variations(of: "nobody") == [:])
        #expect(table.variation(of: "nobody", inExperiment: 0) == nil)
        #expect(table.variation(of: "u1", inExperiment: 7) == nil)
        var plan = moves.plan
        (plan.stage, plan.share) = (.live, 1)
        var provider = MigratingProvider(from: moves.old, to: moves.new, plan: plan)
        provider.imported = table
        let client = try await ExperimentationClient(
            provider: provider,
            store: moves.store,
            environment: ClientEnvironment(time: moves.time)
        )
        for number in 0..<20 {
            #expect(try await Moves.color("u\(number)", by: client) == (number % 2 == 0 ? "grey" : "green"))
        }
        await client.shutdown(within: .zero)
    }

    @Test(
        "a file of another format is rejected at its first line, and nothing is imported",
        arguments: AssignmentFormat.allCases
    )
    func otherFormat(format: AssignmentFormat) async throws {
        let moves = Moves()
        let error = await #expect(throws: ExperimentationError.self) { try await Self.run(["hello"], format, moves) }
        #expect(error?.code == .invalidArgument)
        #expect(try await moves.store.state.keys(beginningWith: "").isEmpty)
    }
}
