import Foundation
import Testing

@Suite("xp compare and vendors")
struct CompareTests {
    @Test("the comparison of all vendors follows its schema, and every story comes to its end")
    func json() async throws {
        let result = try await Tool.run(["compare", "--rounds", "2", "--format", "json"])
        #expect(result.status == 0)
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "comparison").problems(of: document) == [])
        let vendors = try #require(document["comparison"]?["vendors"]?.array)
        let steps = try #require(document["comparison"]?["steps"]?.array)
        for vendor in vendors {
            #expect(vendor["outcomes"]?.array?.count == steps.count)
            #expect(vendor["lost"]?.number == 0)
        }
        let names = vendors.compactMap { $0["name"]?.string }
        #expect(names.prefix(2) == ["flagship", "sigma"])
    }

    @Test("a swap follows the schema")
    func swap() async throws {
        let result = try await Tool.run([
            "compare", "--from", "flagship", "--to", "evergage", "--without-timings", "--format", "json",
        ])
        #expect(result.status == 0)
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "comparison").problems(of: document) == [])
        #expect(document["swap"]?["missing"]?.array?.contains { $0["capability"]?.string == "flags" } == true)
    }

    @Test("the shipped scenario files say what the shipped scenarios say")
    func files() async throws {
        for name in ["checkout", "login", "offline-start", "kill-switch", "black-friday"] {
            let path = Tool.root.appending(path: "docs/scenarios/\(name).yaml").path
            let arguments = ["--vendor", "in-memory", "--without-timings", "--format", "json"]
            let file = try await Tool.run(["compare", "--scenario", path] + arguments)
            let shipped = try await Tool.run(["compare", "--scenario", name] + arguments)
            #expect(file.status == 0, "\(file.errors)")
            #expect(file.output == shipped.output, "\(name)")
        }
    }

    @Test("the text of a comparison has at most a hundred columns")
    func text() async throws {
        let result = try await Tool.run(["compare", "--rounds", "1"])
        #expect(result.lines.filter { $0.count > 100 } == [])
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test(
        "the pages are what xp compare writes now: make docs brings them up to date",
        arguments: [
            ("comparison", []), ("comparison-flagship-evergage", ["--from", "flagship", "--to", "evergage"]),
            ("comparison-sigma-flagship", ["--from", "sigma", "--to", "flagship-bucketing"]),
        ]
    )
    func documentIsFresh(name: String, arguments: [String]) async throws {
        let result = try await Tool.run(["compare", "--without-timings", "--format", "markdown"] + arguments)
        let whole = try String(contentsOf: Tool.root.appending(path: "docs/\(name).md"), encoding: .utf8)
        // The links at the end are written by hand.
        let page = whole.split(separator: "\n## From one to another", maxSplits: 1).first.map(String.init) ?? ""
        let differing = zip(Self.comparable(page), Self.comparable(result.output)).filter { $0 != $1 }
        #expect(differing.map(\.0) == [])
        #expect(Self.comparable(page).count == Self.comparable(result.output).count)
    }

    /// Bytes are left out: what a clock says takes a digit more or less.
    static func comparable(_ page: String) -> [String] {
        page.split(separator: "\n", omittingEmptySubsequences: false).map {
            String($0).replacing(/[0-9.]+ (B|kB|MB)/, with: "n")
        }
    }

    @Test("the matrix of vendors follows its schema")
    func vendors() async throws {
        let result = try await Tool.run(["vendors", "--format", "json"])
        #expect(result.status == 0)
        #expect(try JSONSchema(named: "vendors").problems(of: JSONValue(result.output)) == [])
    }
}
