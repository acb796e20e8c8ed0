import Foundation
import GRDB
import Testing

@Suite("Usage and bad input")
struct UsageTests {
    @Test("help lists every command, with examples and exit statuses")
    func help() async throws {
        let result = try await Tool.run(["--help"])
        #expect(result.status == 0)
        for word in ["vendors", "compare", "conform", "mock", "evaluate", "track", "outbox", "EXIT STATUS", "EXAMPLES"]
        {
            #expect(result.output.contains(word), "\(word)")
        }
    }

    @Test(
        "each command's help has examples",
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
        "bad usage has status 64 and says what was expected",
        arguments: [
            (["compare", "--vendor", "nobody"], "there is no vendor \"nobody\"; expected one of "),
            (["conform", "--vendor", "nobody"], "there is no vendor \"nobody\""),
            (["conform", "--case", "no/such"], "there is no case \"no/such\""),
            (["mock", "nobody"], "there is no vendor \"nobody\""),
            (["mock"], "Missing expected argument"),
            (["mock", "flagship", "--port", "70000"], "from 0 to 65535"),
            (["compare", "--format", "pdf"], "pdf"), (["vendors", "--format", "pdf"], "pdf"),
            (["compare", "--rounds", "0"], "from 1 to 1000"), (["compare", "--rounds", "many"], "many"),
            (["compare", "--round-trip", "20000"], "from 0 to 10000"),
            (["compare", "--monthly-users", "0"], "from 1 to"),
            (["compare", "--reads", "5"], "expected --monthly-users beside it"),
            (["compare", "--monthly-users", "5", "--events", "1001"], "from 0 to 1000"),
            (["compare", "--from", "sigma", "--to", "flagship", "--users", "5", "--growth"], "can't be combined with"),
            (["compare", "--from", "flagship"], "--from and --to belong together"),
            (["compare", "--from", "flagship", "--to", "flagship"], "expected two vendors"),
            (["flags", "generate", "--name", "class"], "--name: expected a type name"),
            (["flags", "generate", "--name", "String"], "no name in use such as String"),
            (["flags", "generate", "--name", "init"], "--name: expected a type name"),
            (["flags", "generate", "--name", "self"], "--name: expected a type name"),
            (["conform", "--live"], "--config and --live belong together"),
            (["evaluate"], "--config"), (["outbox", "status"], "--store"), (["fly"], "fly"),
            (["compare", "--nonsense"], "nonsense"),
            (["conform", "--ofrep", "http://127.0.0.1:9", "--record", "r"], "--ofrep excludes --record"),
            (["conform", "--ofrep", "http://127.0.0.1:9", "--badge", "b"], "--ofrep excludes --badge"),
            (["conform", "--ofrep", "http://127.0.0.1:9", "--skip-from", "s"], "--ofrep excludes --skip-from"),
            (["conform", "--ofrep", "http://127.0.0.1:9", "--store", "memory"], "--ofrep excludes --store"),
            (["conform", "--list", "--record", "r"], "--list excludes --record"),
            (["conform", "--list", "--format", "junit"], "--list writes text and json"),
            (["conform", "--list", "--badge", "b"], "--list excludes --badge"),
            (["conform", "--list", "--store", "sqlite"], "--list excludes --store"),
            (["conform", "--list", "--skip-from", "s"], "--list excludes --skip-from"),
            (["conform", "--subject", "garbage"], "--subject garbage: an address begins with https://"),
            (["conform", "--subject", "sigma>sigma@live"], "there is no move \"sigma>sigma@live\"; expected one of "),
            (["conform", "--ofrep", "nonsense"], "xp: --ofrep nonsense: an address begins with https://"),
            (["conform", "--ofrep", "http://example.com"], "xp: --ofrep http://example.com: "),
            (["conform", "--ofrep", "http://ada:pw@127.0.0.1/"], "xp: --ofrep: an address holds no user"),
            (["conform", "--subject", "https://ada:pw@example.com/"], "xp: --subject: an address holds no user"),
            (["conform", "--subject", "https://ada:p>w@example.com/"], "xp: --subject: "),
            (["conform", "--ofrep", "http://ada:pw/"], "xp: --ofrep: "),
        ]
    )
    func badUsage(arguments: [String], message: String) async throws {
        let result = try await Tool.run(arguments)
        #expect(result.status == 64)
        #expect(result.complaint.hasPrefix("xp: "), "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.output == "")
    }

    @Test(
        "an invalid scenario has status 66 and one line with file, position and what was expected",
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
                "x.yaml", "base: &base\n  name: a\nworld:\n  <<: *base\n",
                ":4: world: merge keys aren't read; write the members out"
            ),
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

    @Test("an unwritable report file is reported before the work", arguments: ["", "/no/such/r.md", "/tmp"])
    func unwritable(path: String) async throws {
        for command in [["compare", "--rounds", "1000"], ["conform"]] {
            let result = try await Tool.run(command + ["--output", path], limit: 10)
            #expect(result.status == 66)
            let name = path.isEmpty ? "--output" : path
            #expect(result.errors == "xp: \(name): can't be written; expected a file in a folder that exists\n")
        }
    }

    @Test(
        "a document may begin with a byte order mark, and lines may end in CRLF",
        arguments: ["yaml", "json"]
    )
    func marks(ending: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let text =
            ending == "yaml"
            ? "vendor: flagship\r\nenvironmentID: e\r\napiKey: k\r\n"
            : "{\"vendor\":\"flagship\",\r\n\"environmentID\":\"e\",\"apiKey\":\"k\"}\r\n"
        let path = try Tool.file("\u{FEFF}" + text, "c.\(ending)", in: folder)
        let result = try await Tool.run(["track", "--config", path], input: "\u{FEFF}\r\n")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.lines == [#"{"ledger":{"accepted":0,"delivered":0,"dropped":{},"pending":0,"purged":0}}"#])
    }

    @Test("a missing scenario or configuration has status 66", arguments: ["compare", "evaluate", "track"])
    func missingFile(command: String) async throws {
        let option = command == "compare" ? "--scenario" : "--config"
        let result = try await Tool.run([command, option, "/no/such/file.json"])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: /no/such/file.json: no such file")
        let nameless = try await Tool.run([command, option, ""])
        #expect(nameless.status == 66)
        #expect(nameless.complaint == "xp: expected the name of a file, found an empty one")
    }

    @Test(
        "an invalid configuration has status 66 and one line with file, key and what was expected",
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

    @Test("a closed standard stream is reported, and no other file gets its descriptor", arguments: ["<&-", ">&-"])
    func closedFiles(redirection: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Tool.file(
            #"{"vendor":"flagship","environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}}"#,
            "c.json",
            in: folder
        )
        let store = folder.appending(path: "outbox.db").path
        let words = [Tool.executable.path, "track", "--config", configuration, "--store", store, "--deadline", "0"]
        let running = try Running(
            ["-c", "exec \"$@\" \(redirection)", "sh"] + words,
            executable: URL(filePath: "/bin/sh"),
            input: #"{"user":{"id":"u","consent":true},"event":{"type":"screenView","name":"a"}}"# + "\n"
        )
        let result = try await running.result(within: 60)
        let isInput = redirection == "<&-"
        #expect(result.status == (isInput ? 66 : 1))
        #expect(
            result.errors.split(separator: "\n").last.map(String.init)
                == (isInput
                    ? "xp: standard input: can't be read any further: Bad file descriptor"
                    : "xp: standard output can't be written")
        )
        // The store is intact, and no output was written into its files.
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.status == 0)
        #expect(exported.lines.count == (isInput ? 0 : 1))
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) where file.hasSuffix("-lock") {
            // The file holds only its own data.
            let content = try Data(contentsOf: folder.appending(path: file))
            #expect(content.isEmpty || content.starts(with: Data("XPAC".utf8)))
            #expect(content.range(of: Data("ledger".utf8)) == nil)
        }
    }

    @Test(
        "an event file given as the store is rejected and left unchanged",
        arguments: ["events.jsonl", "x.db"]
    )
    func eventsAsStore(name: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Tool.file(
            #"{"vendor":"flagship","environmentID":"e","apiKey":"k"}"#,
            "c.json",
            in: folder
        )
        let text = #"{"user":{"id":"u"},"event":{"type":"screenView","name":"a"}}"#
        let path = try Tool.file(text, name, in: folder)
        let result = try await Tool.run(["track", "--config", configuration, "--input", path, "--store", path])
        #expect(result.status == 66)
        #expect(result.errors == "xp: \(path): expected a store file, found something else\n")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["c.json", name])
    }

    @Test("a damaged store is reported in one line with the path of its copy, and readable events are kept")
    func damagedStore() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Tool.file(
            #"{"vendor":"flagship","environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}}"#,
            "c.json",
            in: folder
        )
        let store = folder.appending(path: "outbox.db").path
        let lines = (0..<500).map {
            #"{"user":{"id":"u","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        let track = ["track", "--config", configuration, "--store", store, "--deadline", "0"]
        let filled = try await Tool.run(track, input: lines.joined(separator: "\n"))
        #expect(filled.status == 69)
        // Why they wait depends on whether the first attempt has failed by now.
        #expect(filled.errors.hasPrefix("xp: 500 events wait in \(store)\n"))
        // Moves everything into one file.
        let database = try DatabaseQueue(path: store)
        try await database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try database.close()
        var bytes = try Data(contentsOf: URL(filePath: store))
        try #require(bytes.count > 100_000)
        // Five pages in the middle of the events.
        let middle = try #require(bytes.range(of: Data("\"e250\"".utf8))).lowerBound / 4_096 * 4_096
        bytes.replaceSubrange(middle..<(middle + 20_000), with: Data(repeating: 0x41, count: 20_000))
        try bytes.write(to: URL(filePath: store))
        let told = try await Tool.run(["outbox", "export", "--store", store])
        #expect(told.status == 0)
        #expect(
            told.errors == "xp: \(store): The store was damaged. It was set aside, and what could be read was kept. "
                + "See \(store).damaged\n"
        )
        #expect((100..<500).contains(told.lines.count), "\(told.lines.count) lines")
        let again = try await Tool.run(["outbox", "export", "--store", store])
        #expect(again.errors == "")
        #expect(again.output == told.output)
    }

    @Test("an unreadable line is reported with its number and column")
    func placeOfALine() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Tool.file(
            #"{"vendor":"flagship","environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}}"#,
            "c.json",
            in: folder
        )
        let result = try await Tool.run(["track", "--config", configuration], input: "\n\n{\"user\": nonsense}\n{\"us")
        #expect(result.status == 1)
        let messages = try result.lines.dropLast().map { try JSONValue($0)["error"]?["message"]?.string }
        #expect(
            messages == [
                "line 3, column 10: expected a value",
                "line 4, column 5: the document ends too early; expected the end of a text",
            ]
        )
        #expect(result.errors.hasSuffix("xp: 2 of 2 lines were not accepted; the output says why\n"))
    }

    @Test(
        "one line without a decision is reported in the singular",
        arguments: [
            ("{\"user\":{\"id\":\"ada\"}}\n{\"user\":7}\n", "xp: 1 of 2 lines was not decided; the output says why\n"),
            ("{\"user\":7}\n", "xp: 1 of 1 line was not decided; the output says why\n"),
        ]
    )
    func singular(input: String, ending: String) async throws {
        let mock = try await ServedMock("sigma")
        let result = try await Tool.run(["evaluate", "--config", try mock.configuration()], input: input)
        _ = try await mock.end()
        #expect(result.status == 1)
        #expect(result.errors.hasSuffix(ending), "\(result.errors)")
    }

    @Test(
        "another file isn't taken for a store however it is spelled, nor is the name of a folder",
        arguments: [
            ("other.db/", "expected the name of a store file, found a folder's"),
            ("other.db/.", "expected the name of a store file, found a folder's"),
            ("new.db/", "expected the name of a store file, found a folder's"),
            ("nowhere/../other.db", "expected a store file, found something else"),
        ]
    )
    func spelledStore(name: String, problem: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let config = try Tool.file(#"{"vendor":"flagship","environmentID":"e","apiKey":"k"}"#, "c.json", in: folder)
        let other = try Tool.file("something else", "other.db", in: folder)
        let store = folder.path + "/" + name
        let result = try await Tool.run(["track", "--config", config, "--store", store])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: \(store): \(problem)")
        #expect(try String(contentsOfFile: other, encoding: .utf8) == "something else")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["c.json", "other.db"])
    }

    @Test("a missing or invalid store has status 66", arguments: ["status", "export"])
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
