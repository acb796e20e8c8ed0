import Foundation
import Testing

@Suite("Usage and bad input")
struct UsageTests {
    @Test("help names every command, with examples and exit statuses")
    func help() async throws {
        let result = try await Tool.run(["--help"])
        #expect(result.status == 0)
        for word in ["vendors", "compare", "conform", "mock", "evaluate", "track", "outbox", "EXIT STATUS", "EXAMPLES"]
        {
            #expect(result.output.contains(word), "\(word)")
        }
    }

    @Test(
        "each command explains itself with examples",
        arguments: ["vendors", "compare", "conform", "mock", "evaluate", "track", "outbox", "outbox status"]
    )
    func commandHelp(command: String) async throws {
        let result = try await Tool.run(command.split(separator: " ").map(String.init) + ["--help"])
        #expect(result.status == 0)
        #expect(result.output.contains("EXAMPLES"))
    }

    @Test("xp track --help lists every type of event with its fields")
    func eventTypes() async throws {
        let help = try await Tool.run(["track", "--help"]).output
        let schema = try JSONDecoder().decode(
            JSONValue.self,
            from: Data(contentsOf: Tool.root.appending(path: "docs/schemas/event.schema.json"))
        )
        let types = schema["$defs"]?["event"]?["oneOf"]?.array?.compactMap {
            $0["properties"]?["type"]?["const"]?.string
        }
        #expect(types?.count == 28)
        for type in types ?? [] { #expect(help.contains("  \(type):"), "\(type)") }
    }

    @Test(
        "bad usage is status 64 and says what was expected",
        arguments: [
            (["compare", "--vendor", "nobody"], "there is no vendor \"nobody\"; expected one of "),
            (["conform", "--vendor", "nobody"], "there is no vendor \"nobody\""),
            (["conform", "--case", "no/such"], "there is no case \"no/such\""),
            (["mock", "nobody"], "there is no vendor \"nobody\""),
            (["mock"], "Missing expected argument"),
            (["mock", "flagship", "--port", "70000"], "from 0 to 65535"),
            (["compare", "--format", "pdf"], "pdf"), (["vendors", "--format", "pdf"], "pdf"),
            (["compare", "--rounds", "0"], "from 1 to 1000"), (["compare", "--rounds", "many"], "many"),
            (["compare", "--from", "flagship"], "--from and --to belong together"),
            (["compare", "--from", "flagship", "--to", "flagship"], "expected two vendors"),
            (["conform", "--live"], "--config and --live belong together"),
            (["evaluate"], "--config"), (["outbox", "status"], "--store"), (["fly"], "fly"),
            (["compare", "--nonsense"], "nonsense"),
        ]
    )
    func badUsage(arguments: [String], message: String) async throws {
        let result = try await Tool.run(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output == "")
    }

    @Test(
        "a scenario that can't be used is status 66 and one line with file, place and what was expected",
        arguments: [
            ("x.json", "", "is empty; expected a JSON object"),
            ("x.yaml", "", "is empty; expected a YAML mapping"),
            ("x.json", "{\"name\": \"a\", \"steps\": [", ":1: expected a value, found the end of the file"),
            ("x.yaml", "name: a\nsteps: [", " is not valid YAML"),
            ("x.json", "[]", ":1: expected an object, found a list"),
            ("x.yaml", "just text", "expected an object, found \"just text\""),
            (
                "x.yaml", "name: a\nworld: shop\nsteps:\n  - arrive: ada\n  - reed: x\n",
                ":5: steps[1]: expected exactly one of"
            ),
            ("x.yaml", "name: a\nname: b\n", "there twice"),
            (
                "x.yaml",
                "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
                    + "bcdefgh".map {
                        "\($0): &\($0) [\(Array(repeating: "*\(Self.before($0))", count: 9).joined(separator: ", "))]"
                    }
                    .joined(separator: "\n"),
                "is larger than 100000 values"
            ),
            (
                "x.yaml", "name: a\nworld: shop\nsteps:\n  - arrive: ada\n  - read: discount\n    default: .nan\n",
                ":6: steps[1].default: expected a finite number"
            ),
            (
                "x.json", String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
                "more than 64 levels deep"
            ),
            (
                "x.yaml", String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
                "more than 64 levels deep"
            ),
            ("x.yaml", String(repeating: "- ", count: 5000) + "a", "more than 64 levels deep"),
        ]
    )
    func badScenario(name: String, text: String, message: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try Tool.file(text, name, in: folder)
        let result = try await Tool.run(["compare", "--scenario", path])
        #expect(result.status == 66)
        #expect(result.complaint.contains(message), "\(result.errors)")
        #expect(result.complaint.hasPrefix("xp: \(path)"))
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.output == "")
    }

    private static func before(_ letter: Character) -> Character {
        Character(UnicodeScalar((letter.asciiValue ?? 98) - 1))
    }

    @Test("a scenario or a configuration that isn't there is status 66", arguments: ["compare", "evaluate", "track"])
    func missingFile(command: String) async throws {
        let option = command == "compare" ? "--scenario" : "--config"
        let result = try await Tool.run([command, option, "/no/such/file.json"])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: /no/such/file.json: no such file")
    }

    @Test(
        "a configuration that can't be used is status 66 and one line with file, key and what was expected",
        arguments: [
            ("", "is empty"), ("{", "expected"), ("[]", "expected an object with \"vendor\""),
            ("{}", "\"vendor\": missing"), ("{\"vendor\": 3}", "\"vendor\": missing or not a text"),
            ("{\n\"vendor\": \"nobody\"}", ":2: \"vendor\": there is no \"nobody\"; expected one of flagship"),
            ("{\"vendor\": \"flagship\"}", "\"environmentID\": missing; expected a text"),
            (
                "{\"vendor\": \"flagship\", \"environmentID\": 3, \"apiKey\": \"k\"}",
                "\"environmentID\": expected a text"
            ),
            (
                "{\"vendor\": \"flagship\", \"environmentID\": \"e\", \"apiKey\": {\"env\": \"XP_NO_SUCH\"}}",
                "\"apiKey\": the environment variable XP_NO_SUCH isn't set"
            ),
            (
                "{\"vendor\": \"flagship\", \"environmentID\": \"e\", \"apiKey\": \"k\", \"color\": 1}",
                "\"color\": no such setting"
            ),
            (
                "{\"vendor\": \"flagship\", \"environmentID\": \"e\", \"apiKey\": \"k\", \"endpoints\": {\"decision\": \"http://example.com/\"}}",
                "\"endpoints.decision\""
            ),
        ]
    )
    func badConfiguration(text: String, message: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = try Tool.file(text, "c.json", in: folder)
        let result = try await Tool.run(["evaluate", "--config", path], input: "{\"user\":{\"id\":\"a\"}}\n")
        #expect(result.status == 66)
        #expect(result.complaint.contains(message), "\(result.errors)")
        #expect(result.complaint.hasPrefix("xp: \(path)"))
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(result.output == "")
    }

    @Test("a store that isn't there, or isn't one, is status 66", arguments: ["status", "export"])
    func badStore(command: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let missing = try await Tool.run(["outbox", command, "--store", folder.appending(path: "none.db").path])
        #expect(missing.status == 66)
        #expect(missing.complaint.hasSuffix("none.db: no such file"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [], "nothing is half done")
        let other = try Tool.file("something else", "other.db", in: folder)
        let result = try await Tool.run(["outbox", command, "--store", other])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: \(other): expected a store file, found something else")
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "something else")
    }
}
