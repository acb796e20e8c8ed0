import Foundation
import Testing

@Suite("The lines of xp migrate import")
struct ImportedLineTests {
    @Test("are numbered as in the file, blank ones included, and one that is too long is refused")
    func numbers() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let plan = try PlanFolder.plan(in: folder)
        let long = "u9,till," + String(repeating: "a", count: 5 << 20)
        let lines = ["", "unit,experiment,variant", "u1,till,a", "", " ", "u2,gone,a", long, "u3,till"]
        let input = try Tool.file(lines.joined(separator: "\n"), "lines.csv", in: folder)
        let store = folder.appending(path: "app.db").path
        let result = try await Tool.run([
            "migrate", "import", "--plan", plan, "--store", store, "--input", input, "--as", "csv",
        ])
        #expect(result.status == 1)
        let report = try JSONValue(result.output)
        #expect(
            report["examples"]
                == .array([
                    .string("line 6: no experiment \"gone\" is mapped"), .string("line 7: is too long"),
                    .string("line 8: expected 3 fields, found 2"),
                ])
        )
        #expect(report["lines"] == .number(5) && report["taken"] == .number(1))
    }

    @Test(
        "an invalid first line is rejected with its number, and standard input is named as such",
        arguments: [
            ("", 1, "is empty; expected lines of the format csv"),
            (
                "\n\nhello\n", 1,
                "line 3 isn't of the format csv: expected a first line with unit, experiment and variant"
            ),
            ("a", 5 << 20, "line 1 isn't of the format csv: is too long"),
        ]
    )
    func firstLine(text: String, times: Int, problem: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let plan = try PlanFolder.plan(in: folder)
        let store = folder.appending(path: "app.db").path
        let result = try await Tool.run(
            ["migrate", "import", "--plan", plan, "--store", store, "--input", "-", "--as", "csv"],
            input: String(repeating: text, count: times)
        )
        #expect(result.status == 66)
        #expect(result.errors == "xp: standard input: \(problem)\n")
        #expect(!FileManager.default.fileExists(atPath: store))
    }
}
