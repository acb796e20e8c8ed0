import Foundation
import Testing
import Waiting

@Suite("xp migrate")
struct MigrateTests {
    static let plan = """
        {"from": "flagship-bucketing", "to": "sigma",
         "mapping": [{"old": "till", "new": "checkout-2", "variations": {"a": "one", "b": "two"}, "weights": {"a": 30, "b": 70}}]}
        """

    private func report(_ arguments: [String]) async throws -> JSONValue {
        let result = try await Tool.run(["migrate", "simulate"] + arguments + ["--format", "json"], limit: 400)
        #expect(result.status == 0, "\(result.errors)")
        let report = try JSONValue(result.output)
        #expect(try JSONSchema(named: "move-report").problems(of: report) == [])
        return report
    }

    @Test("simulate plays a whole move: variations stay, no exposure is lost, nothing waits, and both ledgers balance")
    func simulates() async throws {
        let report = try await report(["--from", "flagship-bucketing", "--to", "sigma", "--users", "60"])
        #expect(report["changedVariant"] == .number(0))
        #expect(report["unassigned"] == .number(0))
        for vendor in ["flagship-bucketing", "sigma"] {
            #expect(report["exposures"]?[vendor]?["missing"] == .number(0))
            #expect(report["exposures"]?[vendor]?["unexpected"] == .number(0))
            #expect(report["ledgers"]?[vendor]?["ledger"]?["pending"] == .number(0))
        }
        #expect(report["leftOut"] == .array([]))
        #expect(report["stages"]?.array?.count == 13)
    }

    @Test("simulate plays your own plan, with its experiments and shares")
    func playsAPlan() async throws {
        let folder = try Tool.folder()
        let plan = try Tool.file(Self.plan, "plan.json", in: folder)
        let report = try await report(["--plan", plan, "--users", "300"])
        #expect(report["from"] == .string("flagship-bucketing"))
        #expect(report["experiments"] == .array([.string("till")]))
        #expect(report["changedVariant"] == .number(0))
        let counts = report["sampleRatio"]?["till"]?["counts"]
        let first = try #require(counts?["a"]?.number)
        #expect(first + (counts?["b"]?.number ?? 0) == 300)
        #expect((50..<150).contains(first))
        #expect(report["sampleRatio"]?["till"]?["alarm"] == .bool(false))
    }

    @Test("plan writes a mapping that passes its own check, and reports faults of others with file, line and key")
    func plans() async throws {
        let (old, new) = (try await ServedMock("flagship"), try await ServedMock("sigma"))
        let vendors = ["--from", try old.configuration(#","mode":"bucketing""#), "--to", try new.configuration()]
        let folder = try Tool.folder()
        let path = folder.appending(path: "plan.json").path
        let first = try await Tool.run(["migrate", "plan"] + vendors + ["--output", path])
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.hasPrefix("1 experiment is mapped; review it\n"))
        let plan = try String(contentsOfFile: path, encoding: .utf8)
        let mapped = try #require(try JSONValue(plan)["mapping"]?.array)
        #expect(!mapped.isEmpty)
        let second = try await Tool.run(["migrate", "plan"] + vendors + ["--mapping", path])
        #expect(second.status == 0, "\(second.errors)")

        let (name, id) = try #require(mapped[0]["variations"]?.object?.first)
        let broken = plan.replacing(": \"\(id.string ?? "")\"", with: ": \"nobody-knows-it\"")
        let third = try await Tool.run(
            ["migrate", "plan"] + vendors + ["--mapping", try Tool.file(broken, "broken.json", in: folder)]
        )
        #expect(third.status == 1)
        let line = broken.split(separator: "\n", omittingEmptySubsequences: false)
            .firstIndex { $0.contains("nobody-knows-it") }
        #expect(
            third.output.contains("broken.json:\((line ?? -1) + 1): \"mapping[0].variations.\(name)\": "),
            "\(third.output)"
        )
        #expect(third.output.contains("the new vendor has no variation \"nobody-knows-it\""))
        for mock in [old, new] { _ = try await mock.end() }
    }

    @Test("simulate fails if a step was held, and says why")
    func held() async throws {
        let arguments = ["migrate", "simulate", "--from", "sigma", "--to", "flagship", "--users", "20"]
        let result = try await Tool.run(arguments, limit: 400)
        #expect(result.status == 1)
        #expect(result.errors.contains("the move was held or broke a promise"))
        #expect(result.output.contains("held before live: flagship can't be told which variations users have"))
    }

    @Test(
        "simulate with a plan that accepts reassignment succeeds, and says where, when and by whom users were changed"
    )
    func accepted() async throws {
        let folder = try Tool.folder()
        let plan = try Tool.file(
            Self.plan.replacing("{\"from\"", with: "{\"reassignment\": \"accepted\", \"from\""),
            "accepted.json",
            in: folder
        )
        let report = try await report(["--plan", plan, "--users", "100"])
        #expect((report["changedVariant"]?.number ?? 0) > 0)
        guard case .string(let first)? = report["changes"]?.array?.first else { throw NoChange() }
        #expect(first.hasPrefix("step ") && first.contains("(live)"), "\(first)")
        #expect(first.contains("answered by old; then ") && first.hasSuffix("answered by new"), "\(first)")
    }

    private struct NoChange: Error {}

    @Test("simulate leaves no file behind when a signal ends it", arguments: [SIGINT, SIGTERM, SIGHUP])
    func endedSimulation(by signal: Int32) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        let running = try Running(
            ["migrate", "simulate", "--from", "flagship-bucketing", "--to", "sigma", "--users", "100000"],
            environment: ["TMPDIR": folder.path]
        )
        try await eventually("the store of the simulation") { try !files().isEmpty }
        running.send(signal)
        #expect(try await running.result().status == 128 + signal)
        try await eventually("no files") { try files().isEmpty }
    }

    @Test("simulate puts no users into an arm without a weight, and reports no mismatch for that")
    func partialWeights() async throws {
        let folder = try Tool.folder()
        let plan = try Tool.file(
            Self.plan.replacing("\"b\": \"two\"}", with: "\"b\": \"two\", \"c\": \"three\"}"),
            "partial.json",
            in: folder
        )
        let report = try await report(["--plan", plan, "--users", "100"])
        #expect(report["sampleRatio"]?["till"]?["alarm"] == .bool(false))
    }

    @Test("simulate says what it leaves out, and adds faults")
    func faults() async throws {
        let folder = try Tool.folder()
        let faults =
            #"{"faults":[{"vendor":"old","step":1,"operation":"decisions","fault":"status","status":503,"times":"forever"}]}"#
        let file = try Tool.file(faults, "faults.json", in: folder)
        #expect(try JSONSchema(named: "move-faults").problems(of: JSONValue(faults)) == [])
        let report = try await report(["--from", "flagship", "--to", "sigma", "--users", "40", "--faults", file])
        #expect(report["leftOut"]?.array?.count == 1)
        #expect(report["changedVariant"] == .number(0))
        let stages = try #require(report["stages"]?.array)
        #expect(stages[0]["failed"] == stages[0]["users"])
        #expect(stages[1]["failed"] == .number(0))
    }

    @Test(
        "bad input is reported in one clear line, and the status distinguishes input from vendor",
        arguments: [
            (["simulate"], 64, "expected --plan, or --from and --to"),
            (["simulate", "--from", "sigma", "--to", "sigma"], 64, "expected two vendors"),
            (["simulate", "--from", "sigma", "--to", "evergage"], 64, "evergage decides nothing that could be moved"),
            (["simulate", "--from", "sigma", "--to", "flagship", "--faults", "F"], 66, "faults[0].step"),
            (["move", "--plan", "P", "--store", "S", "--to", "begun"], 64, "there is no stage \"begun\""),
            (["move", "--plan", "P", "--store", "S", "--to", "live", "--share", "nan"], 64, "--share"),
            (
                ["import", "--plan", "P", "--store", "S", "--input", "I", "--as", "csv"], 66,
                "line 1 isn't of the format csv"
            ),
            (["import", "--plan", "N", "--store", "S", "--input", "I", "--as", "csv"], 66, "\"share\""),
            (["import", "--plan", "NaN", "--store", "S", "--input", "L", "--as", "csv"], 66, "share-nan.json: line 1"),
            (["import", "--plan", "T", "--store", "S", "--input", "L", "--as", "csv"], 66, "\"one\" is mapped twice"),
            (
                ["import", "--plan", "A", "--store", "S", "--input", "L", "--as", "csv"], 66,
                "\"to\": it is the same account of flagship as \"from\""
            ),
            (
                ["move", "--plan", "A", "--store", "S", "--to", "shadow"], 66,
                "\"to\": it is the same account of flagship as \"from\""
            ),
            (["move", "--plan", "P", "--store", "S", "--to", "live"], 1, "the rules of flagship can't be had now"),
            (["plan", "--from", "V", "--to", "V"], 66, "is the same account of flagship as"),
            (["plan", "--from", "V", "--to", "W"], 69, "flagship.json: flagship: TRANSPORT"),
            (["simulate", "--plan", "A"], 66, "same.json: expected two vendors, found flagship"),
            (["import", "--plan", "P", "--store", "S", "--input", "E", "--as", "csv"], 66, "empty.csv: is empty"),
            (
                ["import", "--plan", "P", "--store", "S", "--input", "L", "--as", "statsig"], 66,
                "of the format statsig"
            ),
        ]
    )
    func badInput(arguments: [String], status: Int32, problem: String) async throws {
        let folder = try Tool.folder()
        let names = [
            "P": try Tool.file(
                Self.plan.replacing("\"flagship-bucketing\"", with: "\"flagship.json\"")
                    .replacing("\"sigma\"", with: "\"sigma.json\""),
                "plan.json",
                in: folder
            ),
            "N": try Tool.file(#"{"share": 2}"#, "share.json", in: folder),
            "NaN": try Tool.file(#"{"share": NaN}"#, "share-nan.json", in: folder),
            "T": try Tool.file(Self.plan.replacing("\"two\"", with: "\"one\""), "twice.json", in: folder),
            "A": try Tool.file(#"{"from": "flagship.json", "to": "flagship.json"}"#, "same.json", in: folder),
            "V": folder.appending(path: "flagship.json").path, "W": folder.appending(path: "sigma.json").path,
            "E": try Tool.file("", "empty.csv", in: folder),
            "L": try Tool.file("unit,experiment,variant\nu1,till,a\n", "good.csv", in: folder),
            "F": try Tool.file(#"{"faults":[{"fault":"stall","step":99}]}"#, "faults.json", in: folder),
            "I": try Tool.file("hello\n", "lines.csv", in: folder),
            "S": folder.appending(path: "app.db").path,
        ]
        try Self.writeVendors(in: folder)
        let result = try await Tool.run(["migrate"] + arguments.map { names[$0] ?? $0 })
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(problem), "\(result.errors)")
        #expect(result.output.isEmpty)
        if arguments[0] == "import" {
            #expect(!FileManager.default.fileExists(atPath: names["S"] ?? ""), "a refused import leaves no store")
        }
    }

    private static func writeVendors(in folder: URL) throws {
        _ = try Tool.file(
            #"{"vendor":"flagship","environmentID":"bkk9glocmjcg0vtmdlng","apiKey":"k","mode":"bucketing","endpoints":{"decision":"http://127.0.0.1:9/","cdn":"http://127.0.0.1:9/","events":"http://127.0.0.1:9/"}}"#,
            "flagship.json",
            in: folder
        )
        _ = try Tool.file(
            #"{"vendor":"sigma","projectToken":"t","endpoints":{"api":"http://127.0.0.1:9/"}}"#,
            "sigma.json",
            in: folder
        )
    }

    @Test("import accepts what it can and reports the rest; move and status use the same store")
    func importsAndMoves() async throws {
        let folder = try Tool.folder()
        let plan = try Tool.file(
            Self.plan.replacing("\"flagship-bucketing\"", with: "\"flagship.json\"")
                .replacing("\"sigma\"", with: "\"sigma.json\""),
            "plan.json",
            in: folder
        )
        try Self.writeVendors(in: folder)
        let lines = "unit,experiment,variant\nu1,till,a\nu2,till,b\nu2,gone,b\nu3,till,z\nu4,til"
        let input = try Tool.file(lines, "lines.csv", in: folder)
        let store = folder.appending(path: "app.db").path
        let arguments = ["migrate", "import", "--plan", plan, "--store", store, "--input", input, "--as", "csv"]
        let result = try await Tool.run(arguments)
        #expect(result.status == 1)
        let report = try JSONValue(result.output)
        #expect(report["users"] == .number(2))
        #expect(report["taken"] == .number(2))
        #expect(
            report["examples"]
                == .array([
                    .string("line 4: no experiment \"gone\" is mapped"),
                    .string("line 5: no variation \"z\" of \"till\" is mapped"),
                    .string("line 6: expected 3 fields, found 2"),
                ])
        )
        #expect(try JSONValue(try await Tool.run(arguments).output)["known"] == .number(2))

        let moved = try await Tool.run(["migrate", "move", "--plan", plan, "--store", store, "--to", "shadow"])
        #expect(moved.status == 0, "\(moved.errors)")
        #expect(moved.output == "shadow 0.0\n")
        let status = try await Tool.run(["migrate", "status", "--plan", plan, "--store", store, "--format", "json"])
        let standing = try JSONValue(status.output)
        #expect(standing["stage"] == .string("shadow"))
        #expect(standing["users"] == .number(2))
        #expect(standing["unsupported"]?["new"] == .number(0))

        // Nothing answers at the vendors' addresses, so nothing could be checked.
        let other = folder.appending(path: "other.db").path
        let refused = try await Tool.run(["migrate", "move", "--plan", plan, "--store", other, "--to", "live"])
        #expect(refused.status == 1)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.filter { $0.hasPrefix("other") } == [])
    }
}
