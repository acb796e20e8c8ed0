import Foundation
import Testing

@Suite("xp flags")
struct FlagsTests {
    @Test(
        "a manifest pulled from a vendor agrees with it, and differences are reported with reasons",
        arguments: ["flagship", "sigma"]
    )
    func pulledAndChecked(vendor: String) async throws {
        let mock = try await ServedMock(vendor)
        let configuration = try mock.configuration()
        let manifest = mock.folder.appending(path: "flags.json").path
        let pulled = try await Tool.run(["flags", "pull", "--config", configuration, "--output", manifest])
        #expect(pulled.status == 0, "\(pulled.errors)")
        let check = ["flags", "check", "--config", configuration, "--manifest"]
        let checked = try await Tool.run(check + [manifest])
        #expect(checked.status == 0 && checked.output.contains("nothing to say"), "\(checked.output)\(checked.errors)")

        let other = try Tool.file(
            #"{"flags":{"not-there":{"flagType":"boolean","defaultValue":true}}}"#,
            "other.json",
            in: mock.folder
        )
        let found = try await Tool.run(check + [other, "--format", "json"])
        #expect(found.status == 1)
        let document = try JSONValue(found.output)
        #expect(try JSONSchema(named: "flag-findings").problems(of: document) == [])
        #expect(
            document["findings"]?.array?.contains {
                $0["kind"]?.string == "missing" && $0["flag"]?.string == "not-there"
            } == true
        )
        #expect(document["findings"]?.array?.contains { $0["kind"]?.string == "stale" } == true)
        #expect(found.complaint.contains("don't agree"))
        _ = try await mock.end()
    }

    @Test(
        "while a vendor's kill switch is on, no manifest is overwritten and nothing is compared",
        arguments: [["pull", "--output"], ["check", "--manifest"]]
    )
    func disabled(command: [String]) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try Tool.file(#"{"panic":true,"campaigns":[]}"#, "bucketing.json", in: folder)
        let mock = try await ServedMock("flagship", ["--world", world])
        let text = #"{"flags":{"a":{"flagType":"boolean","defaultValue":true}}}"#
        let manifest = try Tool.file(text, "flags.json", in: folder)
        let result = try await Tool.run(["flags"] + command + [manifest, "--config", try mock.configuration()])
        #expect(result.status == 1 && result.complaint.contains("kill switch"), "\(result.output)\(result.errors)")
        #expect(try String(contentsOfFile: manifest, encoding: .utf8) == text)
        _ = try await mock.end()
    }

    @Test("unreadable parts of a vendor's flags are reported, and the rest is pulled")
    func unreadable() async throws {
        let broken = Tool.root.appending(path: "Conformance/Fixtures/Sigma/config-broken-elements.json").path
        let mock = try await ServedMock("sigma", ["--world", broken])
        let pulled = try await Tool.run(["flags", "pull", "--config", mock.configuration()])
        #expect(pulled.status == 0)
        #expect(pulled.errors == "xp: sigma: 9 flags and experiments of the configuration can't be read\n")
        #expect(try JSONValue(pulled.output)["flags"]?.object?.keys.sorted() == ["after", "good", "in_test"])
        _ = try await mock.end()
    }

    @Test("a flag whose value can't be read is named with the reason")
    func unreadableValue() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let text = """
            {"use_geo":false,"feature_flags":[{"name":"size","type":"number",
             "rules":[{"is_default":true,"value":"large","conditional_statement":"-","conditions":[]}]}]}
            """
        let mock = try await ServedMock("sigma", ["--world", try Tool.file(text, "config.json", in: folder)])
        let pulled = try await Tool.run(["flags", "pull", "--config", mock.configuration()])
        #expect(pulled.status == 0)
        let reason = "the configured text is not a value of the flag's type"
        #expect(pulled.errors == "xp: sigma: the flag \"size\" has no value that can be read: \(reason)\n")
        _ = try await mock.end()
    }

    @Test("a vendor without flags is reported as such")
    func withoutFlags() async throws {
        let mock = try await ServedMock("evergage")
        let pulled = try await Tool.run(["flags", "pull", "--config", mock.configuration()])
        #expect(pulled.status == 1 && pulled.complaint.contains("UNSUPPORTED"), "\(pulled.errors)")
        _ = try await mock.end()
    }

    @Test("generated keys are written only if they change, and two manifests are compared")
    func generatedAndCompared() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let before = try Tool.file(#"{"flags":{"a":{"flagType":"integer","defaultValue":1}}}"#, "a.json", in: folder)
        let after = try Tool.file(#"{"flags":{"a":{"flagType":"integer","defaultValue":2}}}"#, "b.json", in: folder)
        let output = folder.appending(path: "Flags.swift").path
        let generate = [
            "flags", "generate", "--manifest", before, "--output", output, "--access", "public", "--name", "Keys",
        ]
        #expect(try await Tool.run(generate).status == 0)
        #expect(try String(contentsOfFile: output, encoding: .utf8).contains("public enum Keys {"))
        let date = Date(timeIntervalSince1970: 1_000_000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: output)
        #expect(try await Tool.run(generate).status == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: output)
        #expect(attributes[.modificationDate] as? Date == date)

        #expect(try await Tool.run(["flags", "compare", before, before]).status == 0)
        let compared = try await Tool.run(["flags", "compare", before, after, "--format", "json"])
        #expect(compared.status == 1 && compared.complaint == "xp: 1 flag differs")
        #expect(try JSONSchema(named: "flag-changes").problems(of: JSONValue(compared.output)) == [])
        let table = try await Tool.run(["flags", "compare", before, after, "--format", "markdown"])
        #expect(table.output.contains("| `a` | `change` | `integer 1` | `integer 2` |"), "\(table.output)")
    }

    @Test("where only schema or description differ, both sides say how")
    func comparedBySchema() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func manifest(_ more: String, _ name: String) throws -> String {
            try Tool.file(#"{"flags":{"a":{"flagType":"object","defaultValue":[]\#(more)}}}"#, name, in: folder)
        }
        let before = try manifest(#","schema":{"type":"array","items":{"type":"string"}}"#, "a.json")
        let after = try manifest(#","schema":{"type":"array"},"description":"all""#, "b.json")
        let table = try await Tool.run(["flags", "compare", before, after, "--format", "markdown"])
        let sides = [
            #"no description, schema {"items":{"type":"string"},"type":"array"}"#,
            #"description "all", schema {"items":{},"type":"array"}"#,
        ]
        #expect(table.output.contains("| `a` | `change` | `\(sides[0])` | `\(sides[1])` |"), "\(table.output)")
        let compared = try await Tool.run(["flags", "compare", before, after, "--format", "json"])
        let document = try JSONValue(compared.output)
        #expect(try JSONSchema(named: "flag-changes").problems(of: document) == [])
        let change = document["changes"]?.array?.first
        #expect(change?["oldValue"]?["schema"]?["items"]?["type"]?.string == "string")
        #expect(change?["newValue"]?["schema"]?["items"] != nil)
    }

    @Test(
        "an invalid manifest is reported in one line with the location",
        arguments: [
            (
                #"{"flags":{"a":{"flagType":"integer","defaultValue":"1"}}}"#,
                "m.json:1: flag \"a\": \"defaultValue\": isn't of type integer"
            ),
            ("{\"flags\": {\"a\"", "m.json:1: the document ends too early; expected a colon"),
            ("\u{0}", "m.json:1: expected a value"),
        ]
    )
    func refused(text: String, message: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let manifest = try Tool.file(text, "m.json", in: folder)
        let result = try await Tool.run(["flags", "generate", "--manifest", manifest])
        #expect(result.status == 66 && result.complaint == "xp: \(folder.path)/\(message)", "\(result.errors)")
    }
}
