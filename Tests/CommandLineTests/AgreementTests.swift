import Foundation
import Testing

@Suite("xp compare --users")
struct AgreementTests {
    @Test("the report follows its schema and says which experiments to finish first")
    func json() async throws {
        let result = try await Tool.run([
            "compare", "--from", "sigma", "--to", "flagship-bucketing", "--users", "3000", "--exposures", "12",
            "--format", "json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "agreement").problems(of: document) == [])
        let experiments = try #require(document["agreement"]?["experiments"]?.array)
        #expect(experiments.map { $0["id"]?.string } == ["prices", "checkout", "search"])
        #expect(experiments.map { $0["advice"]?.string } == ["finishFirst", "importFirst", "importFirst"])
        #expect(document["agreement"]?["users"]?.number == 3_000)
        #expect((document["agreement"]?["exposures"]?.array?.count ?? 0) > 5)
    }

    @Test("a vendor that is asked for each user agrees with itself, and one that computes disagrees with it")
    func asked() async throws {
        let result = try await Tool.run([
            "compare", "--from", "flagship", "--to", "flagship-bucketing", "--users", "60", "--exposures", "0",
            "--format", "json",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let experiments = try #require(JSONValue(result.output)["agreement"]?["experiments"]?.array)
        #expect(experiments.map { $0["changed"]?.number }.allSatisfy { $0 == 0 })
    }

    /// The rules of two accounts that run the same test under different names.
    private static let config = """
        {"use_geo":false,"feature_flags":[],"experiments":[{"name":"button_test","type":1,"salt":"s","allocation":100,
          "groups":[{"name":"A","weight":50},{"name":"B","weight":50}],"feature_flags":[{"name":"button","type":"string",
          "groups":[{"group":"A","rules":[{"is_default":true,"value":"blue","conditional_statement":"-","conditions":[]}]},
                    {"group":"B","rules":[{"is_default":true,"value":"red","conditional_statement":"-","conditions":[]}]}]}]}]}
        """
    private static let bucketing = """
        {"campaigns":[{"id":"c1","name":"Buttons","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[{"id":"g1",
          "name":"All","targeting":{"targetingGroups":[{"targetings":[{"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
          "variations":[
            {"id":"v1","name":"Red one","allocation":50,"modifications":{"type":"FLAG","value":{"button":"red"}}},
            {"id":"v2","name":"Original","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{"button":"blue"}}}
          ]}]}]}
        """
    private static let pairs = #"[{"from":"button_test","to":"Buttons"}]"#

    @Test("real rules files are compared, with users from a file, and bad lines are reported")
    func files() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let from = try Tool.file(Self.config, "config.json", in: folder)
        let to = try Tool.file(Self.bucketing, "bucketing.json", in: folder)
        let pairs = try Tool.file(Self.pairs, "pairs.json", in: folder)
        let lines = (0..<400).map { #"{"user":{"id":"user-\#($0)"}}"# } + [#"{"user":{"id":""}}"#, "nonsense"]
        let users = try Tool.file(lines.joined(separator: "\n"), "users.jsonl", in: folder)
        let result = try await Tool.run([
            "compare", "--from", from, "--to", to, "--input", users, "--pairs", pairs, "--format", "json",
        ])
        #expect(result.status == 1)
        #expect(result.errors.contains("line 401: user.id: expected a text that is not empty"))
        #expect(result.errors.contains("2 users were not decided for"))
        let agreement = try #require(try JSONValue(result.output)["agreement"])
        #expect(try JSONSchema(named: "agreement").problems(of: JSONValue(result.output)) == [])
        #expect(agreement["users"]?.number == 400)
        #expect(agreement["unreadable"]?.number == 2)
        let experiment = try #require(agreement["experiments"]?.array?.first)
        // Variations are paired by value, whatever their names.
        #expect(experiment["pairedBy"]?.string == "values")
        #expect(experiment["users"]?.number == 400)
        #expect(experiment["changedImported"]?.number == 0)
        #expect(experiment["advice"]?.string == "importFirst")
        #expect((experiment["changed"]?.number ?? 0) > 100)
    }

    @Test("one user without a decision is reported in the singular")
    func singular() async throws {
        let result = try await Tool.run(
            ["compare", "--from", "sigma", "--to", "flagship-bucketing", "--input", "-", "--exposures", "0"],
            input: "{\"user\":{\"id\":\"ada\"}}\n{\"user\":7}\n"
        )
        #expect(result.status == 1)
        #expect(result.errors.hasSuffix("xp: 1 user was not decided for\n"), "\(result.errors)")
    }

    @Test("every format has the advice, the shares and the p-values", arguments: ["text", "markdown", "html"])
    func formats(format: String) async throws {
        let result = try await Tool.run([
            "compare", "--from", "sigma", "--to", "flagship-bucketing", "--users", "500", "--exposures", "6",
            "--format", format,
        ])
        #expect(result.status == 0, "\(result.errors)")
        for word in ["Price labels", "would change variation", "χ²", "flagship-bucketing, handed over"] {
            #expect(result.output.contains(word), "\(word)")
        }
        if format == "text" { #expect(result.lines.filter { $0.count > 100 } == []) }
    }

    @Test(
        "invalid combinations are rejected, in one line",
        arguments: [
            (["--users", "10"], 64, "--from and --to"),
            (["--from", "sigma", "--to", "flagship", "--users", "0"], 64, "--users"),
            (["--from", "sigma", "--to", "flagship", "--users", "1", "--input", "-"], 64, "one of them"),
            (["--from", "sigma", "--to", "flagship", "--pairs", "x"], 64, "--pairs"),
            (["--from", "engage", "--to", "flagship", "--users", "1"], 1, "engage assigns no users"),
            (["--from", "sigma", "--to", "nowhere", "--users", "1"], 64, "nowhere"),
        ]
    )
    func refused(arguments: [String], status: Int32, word: String) async throws {
        let result = try await Tool.run(["compare"] + arguments)
        #expect(result.status == status)
        #expect(result.errors.contains(word), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test(
        "pairs of an experiment or a variation that a side doesn't have are rejected, and so is a second pair of one",
        arguments: [
            (
                #"[{"from":"button","to":"Buttons"}]"#,
                #"pair 1: from: CONFIG has no experiment "button"; expected one of button_test"#
            ),
            (
                #"[{"from":"button_test","to":"c2"}]"#,
                #"pair 1: to: BUCKETING has no experiment "c2"; expected one of Buttons"#
            ),
            (
                #"[{"from":"button_test","to":"Buttons","variations":{"A":"Original","C":"Red one"}}]"#,
                #"pair 1: variations.C: CONFIG has no variation "C" of button_test; expected one of A, B"#
            ),
            (
                #"[{"from":"button_test","to":"Buttons","variations":{"A":"Orginal"}}]"#,
                #"pair 1: variations.A: BUCKETING has no variation "Orginal" of Buttons; expected one of Red one, Original"#
            ),
            (
                #"[{"from":"button_test","to":"Buttons","variations":{"A":"Original","B":"original"}}]"#,
                "pair 1: variations.B: Original of Buttons is already paired"
            ),
            (
                #"[{"from":"button_test","to":"Buttons","variations":{"A":"Original","a":"Red one"}}]"#,
                "pair 1: variations.a: A of button_test is already paired"
            ),
            (
                #"[{"from":"button_test","to":"Buttons"},{"from":"Button_Test","to":"c1"}]"#,
                "pair 2: from: button_test is already in pair 1"
            ),
        ]
    )
    func strayPairs(text: String, problem: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let from = try Tool.file(Self.config, "config.json", in: folder)
        let to = try Tool.file(Self.bucketing, "bucketing.json", in: folder)
        let pairs = try Tool.file(text, "pairs.json", in: folder)
        let result = try await Tool.run([
            "compare", "--from", from, "--to", to, "--users", "5", "--pairs", pairs,
        ])
        #expect(result.status == 66)
        #expect(result.output == "")
        let named = problem.replacing("CONFIG", with: from).replacing("BUCKETING", with: to)
        #expect(result.complaint == "xp: \(pairs): \(named)")
    }

    @Test("a file that isn't a vendor's rules is rejected, and so is one combined with a vendor")
    func refusedFiles() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let other = try Tool.file(#"{"users":[]}"#, "other.json", in: folder)
        let rules = try Tool.file(Self.config, "config.json", in: folder)
        let none = try await Tool.run(["compare", "--from", rules, "--to", other, "--users", "1"])
        #expect(none.status == 66)
        #expect(none.complaint.contains("expected rules of a vendor"))
        let mixed = try await Tool.run(["compare", "--from", rules, "--to", "flagship", "--users", "1"])
        #expect(mixed.status == 64)
    }
}
