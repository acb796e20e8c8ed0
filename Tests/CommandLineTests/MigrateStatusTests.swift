import Foundation
import Testing

/// A plan of a move in a folder, beside the configurations of both vendors, which can't be reached.
enum PlanFolder {
    private static let flagship =
        #"{"vendor":"flagship","environmentID":"e","apiKey":"k","mode":"bucketing","endpoints":{"cdn":"http://127.0.0.1:9/"}}"#
    private static let sigma = #"{"vendor":"sigma","projectToken":"t","endpoints":{"api":"http://127.0.0.1:9/"}}"#
    private static let mapping = #"[{"old":"till","new":"checkout-2","variations":{"a":"one","b":"two"}}]"#

    /// Writes the files; without a new vendor, the plan names the old one alone.
    static func plan(in folder: URL, to new: String? = "sigma.json") throws -> String {
        _ = try Tool.file(flagship, "flagship.json", in: folder)
        _ = try Tool.file(sigma, "sigma.json", in: folder)
        let to = new.map { #","to":"\#($0)""# } ?? ""
        return try Tool.file(#"{"from":"flagship.json"\#(to),"mapping":\#(mapping)}"#, "plan.json", in: folder)
    }
}

@Suite("xp migrate status")
struct MigrateStatusTests {
    @Test("an invalid configuration of the new vendor is reported instead of another move's stage")
    func brokenNewVendor() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let plan = try PlanFolder.plan(in: folder)
        let files = ["--plan", plan, "--store", folder.appending(path: "app.db").path]
        let moved = try await Tool.run(["migrate", "move"] + files + ["--to", "shadow"])
        #expect(moved.status == 0, "\(moved.errors)")
        let broken = try Tool.file(#"{"vendor":"sigma"}"#, "sigma.json", in: folder)
        let status = try await Tool.run(["migrate", "status"] + files)
        #expect(status.status == 66)
        #expect(
            status.complaint == "xp: \(broken): \"projectToken\": missing; expected a text or {\"env\": \"NAME\"}",
            "\(status.errors)"
        )
        #expect(status.output == "")
        // Without a new vendor the plan's move is another one, which hasn't begun.
        _ = try PlanFolder.plan(in: folder, to: nil)
        let alone = try await Tool.run(["migrate", "status"] + files + ["--format", "json"])
        #expect(alone.status == 0, "\(alone.errors)")
    }

    @Test(
        "a plan whose vendor isn't a file path is rejected, and only a plan without a vendor is said to lack one",
        arguments: [
            (#"{"from":"flagship.json","to":7}"#, #""to": expected the path of a configuration file"#),
            (#"{"from":""}"#, #""from": expected the path of a configuration file"#),
            ("{}", #""from": missing; expected the path of a configuration file"#),
        ]
    )
    func noPath(text: String, problem: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = try PlanFolder.plan(in: folder)
        let plan = try Tool.file(text, "plan.json", in: folder)
        let store = folder.appending(path: "app.db").path
        let moved = try await Tool.run(["migrate", "move", "--plan", plan, "--store", store, "--to", "shadow"])
        #expect(moved.status == 66)
        #expect(moved.complaint == "xp: \(plan): \(problem)")
    }
}
