import Foundation
import Testing

/// Input with terminal control sequences or characters that reverse the text direction.
@Suite("Control characters in input are shown, not obeyed")
struct PlantedTextTests {
    private static let planted = "a\u{1B}[31m\u{7}\u{9B}2J\u{202E}b|<script>"

    /// Returns the characters that an output must not contain; JSON escapes control characters.
    private func obeyed(_ text: String) -> [String] {
        text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A: false
            case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
            default: false
            }
        }.map { String($0.value, radix: 16) }
    }

    @Test("in errors: names, keys, values, files")
    func errors() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let json = #"a\u001b[31m\u0007\u009b2J\u202eb|<script>"#
        let vendor = try Tool.file("{\"vendor\":\"\(json)\"}", "vendor.json", in: folder)
        let key = try Tool.file("{\"vendor\":\"sigma\",\"projectToken\":\"t\",\"\(json)\":1}", "key.json", in: folder)
        let scenario = try Tool.file(
            "{\"name\":\"s\",\"world\":\"shop\",\"steps\":[{\"\(json)\":1}]}",
            "scenario.json",
            in: folder
        )
        let name = Self.planted.replacing("<script>", with: "")
        let runs = [
            ["evaluate", "--config", vendor], ["evaluate", "--config", key],
            ["evaluate", "--config", folder.path + "/" + name], ["compare", "--scenario", scenario],
            ["compare", "--scenario", Self.planted], ["conform", "--case", Self.planted],
            ["compare", "--vendor", Self.planted], ["mock", Self.planted], ["fly", Self.planted],
            ["compare", "--" + Self.planted], ["outbox", "status", "--store", Self.planted],
            ["conform", "--list", "--output", "/no/" + Self.planted], ["conform", "--subject", Self.planted],
        ]
        for arguments in runs {
            let result = try await Tool.run(arguments)
            #expect(result.status != 0, "\(arguments)")
            #expect(!result.errors.isEmpty, "\(arguments)")
            #expect(obeyed(result.errors) == [], "\(arguments): \(result.errors.debugDescription)")
        }
    }

    @Test("in reports: titles, event names, flag keys, users", arguments: ["text", "markdown", "html", "json"])
    func reports(format: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let json = #"a\u001b[31m\u0007\u009b2J\u202eb|<script>"#
        let scenario = try Tool.file(
            """
            {"name":"\(json)","title":"\(json)","summary":"\(json)",
             "world":{"name":"w","flags":[{"key":"\(json)","value":"\(json)"}],"users":[{"id":"u","consent":true}]},
             "steps":[{"arrive":"u","title":"\(json)"},{"refresh":true},{"read":"\(json)","default":"\(json)"},
              {"track":{"type":"custom","name":"\(json)"}},{"flush":true}]}
            """,
            "scenario.json",
            in: folder
        )
        let result = try await Tool.run(
            [
                "compare", "--scenario", scenario, "--format", format, "--without-timings", "--from", "flagship",
                "--to", "sigma",
            ]
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(obeyed(result.errors) == [])
        guard format != "json" else { return }
        #expect(obeyed(result.output) == [])
        if format != "text" { #expect(!result.output.contains("<script>")) }
        guard format == "markdown" else { return }
        #expect(!result.output.contains("b|"))
    }

    @Test("in tables of flags: a key, a value, a description", arguments: ["text", "markdown"])
    func flags(format: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let json = #"a\u001b[31m\u0007\u009b2J\u202eb|<script>\nc\r\n\u2028d"#
        func manifest(_ value: String, _ name: String) throws -> String {
            try Tool.file(
                #"{"flags":{"\#(json)":{"flagType":"string","defaultValue":"\#(value)"}}}"#,
                name,
                in: folder
            )
        }
        let (before, after) = (try manifest(json, "before.json"), try manifest("x", "after.json"))
        let mock = try await ServedMock("sigma", ["--world", try Tool.file(#"{"name":"w"}"#, "w.json", in: folder)])
        let runs = [
            ["compare", before, after], ["check", "--manifest", before, "--config", try mock.configuration()],
        ]
        for arguments in runs {
            let result = try await Tool.run(["flags"] + arguments + ["--format", format])
            #expect(result.status == 1, "\(result.errors)")
            #expect(obeyed(result.output + result.errors) == [], "\(result.output.debugDescription)")
            // One finding: a heading and a row; in Markdown with a title and a rule.
            #expect(result.lines.count == (format == "text" ? 2 : 4), "\(result.output)")
        }
        _ = try await mock.end()
    }
}
