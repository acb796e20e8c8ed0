import Foundation
import Testing

@Suite("xp compare and vendors")
struct CompareTests {
    @Test("the comparison of all vendors follows its schema, and every story is complete")
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

    @Test("the program of make compare shows what xp compare shows, and says so if it can't")
    func withoutOptions() async throws {
        let program = Tool.executable.deletingLastPathComponent().appending(path: "compare-vendors")
        let whole = try await Tool.run(["compare"])
        let result = try await Running([], executable: program).result()
        #expect(Self.withoutNumbers(result.output) == Self.withoutNumbers(whole.output))
        #expect([result.errors, "\(result.status)"] == ["", "0"])
        let full = try await Running(["-c", "\"$0\" > /dev/full", program.path], executable: URL(filePath: "/bin/sh"))
            .result()
        #expect(full.errors == "compare-vendors: standard output can't be written\n")
        #expect(full.status == 1)
        let given = try await Running(["--vendor", "sigma"], executable: program).result()
        #expect(given.complaint.hasPrefix("compare-vendors: expected no arguments; see swift run xp compare --help"))
        #expect(given.status == 64 && given.output.isEmpty)
    }

    /// The words of a report: bytes depend on how long an event has waited, connections on which request is quicker.
    private static func withoutNumbers(_ report: String) -> String {
        report.replacing(/[0-9.]+/, with: "n").replacing(/[ %]+/, with: " ")
    }

    @Test("a vendor that is named twice is compared once")
    func namedTwice() async throws {
        let arguments = ["compare", "--vendor", "in-memory", "--vendor", "in-memory", "--format", "json"]
        let result = try await Tool.run(arguments)
        #expect(result.status == 0)
        #expect(try JSONValue(result.output)["comparison"]?["vendors"]?.array?.count == 1)
    }

    @Test("monthly cost and growth of traffic follow the schema, in every format")
    func cost() async throws {
        let arguments = [
            "compare", "--vendor", "sigma", "--vendor", "engage", "--growth", "--monthly-users", "1000", "--sessions",
            "2",
            "--reads", "3", "--events", "4",
        ]
        let result = try await Tool.run(arguments + ["--format", "json"])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "comparison").problems(of: document) == [])
        let comparison = try #require(document["comparison"])
        #expect(comparison["usage"]?["monthlyUsers"]?.number == 1000)
        let (sigma, engage) = (comparison["vendors"]?.array?.first, comparison["vendors"]?.array?.last)
        #expect(sigma?["monthly"]?["billedEvents"] == nil && sigma?["monthly"]?["requests"]?.number == 2000)
        #expect(engage?["monthly"]?["billedEvents"]?.number == 8000)
        #expect(sigma?["growth"]?["flags"]?.array?.count == 3 && sigma?["growth"]?["events"]?.array?.count == 0)
        #expect(engage?["growth"]?["flags"]?.array?.count == 0 && engage?["growth"]?["events"]?.array?.count == 3)
        for format in ["text", "markdown", "html"] {
            let text = try await Tool.run(arguments + ["--format", format]).output.replacing(/\s+/, with: " ")
            for word in ["1,000 users with 2 sessions each", "8,000", "takes none", "by the number of flags"] {
                #expect(text.contains(word), "\(format): \(word)")
            }
        }
    }

    @Test("eleven rounds of a debug build have no times, and the report says so; a release build has them")
    func times() async throws {
        let result = try await Tool.run([
            "compare", "--scenario", "kill-switch", "--vendor", "sigma", "--rounds", "11", "--round-trip", "5",
            "--format",
            "json",
        ])
        let comparison = try #require(try JSONValue(result.output)["comparison"])
        #if DEBUG
            #expect(comparison["timing"] == nil)
            #expect(
                result.errors == "xp: a debug build shows no times; use swift build -c release\n"
            )
        #else
            #expect(comparison["timing"]?["roundTripMilliseconds"]?.number == 5)
        #endif
    }

    @Test("a swap follows its schema")
    func swap() async throws {
        let result = try await Tool.run([
            "compare", "--from", "flagship", "--to", "evergage", "--without-timings", "--format", "json",
        ])
        #expect(result.status == 0)
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "comparison").problems(of: document) == [])
        #expect(document["swap"]?["missing"]?.array?.contains { $0["capability"]?.string == "flags" } == true)
    }

    @Test("the shipped scenario files equal the built-in scenarios")
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

    @Test(
        "the name of a shipped scenario means that scenario, whatever the folder holds; a path means a file",
        arguments: [
            ([], 0, "checkout", ""), (["--scenario", "login"], 0, "login", ""),
            (["--scenario", "./login"], 66, nil, "xp: ./login:1: expected an object"),
            (["--scenario", "./checkout"], 66, nil, "xp: ./checkout: expected a file, found a folder"),
        ] as [([String], Int32, String?, String)]
    )
    func names(arguments: [String], status: Int32, name: String?, complaint: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let checkout = folder.appending(path: "checkout")
        try FileManager.default.createDirectory(at: checkout, withIntermediateDirectories: true)
        _ = try Tool.file("a text", "login", in: folder)
        let compare = ["compare", "--vendor", "in-memory", "--without-timings", "--format", "json"] + arguments
        let result = try await Running(compare, folder: folder).result()
        #expect(result.status == status, "\(result.errors)")
        #expect(result.complaint.hasPrefix(complaint), "\(result.errors)")
        let played = try name.map { _ in try JSONValue(result.output)["comparison"]?["scenario"] }
        #expect(played == name.map { .string($0) })
    }

    @Test("the text has at most a hundred columns")
    func text() async throws {
        let result = try await Tool.run(["compare", "--rounds", "1"])
        #expect(result.lines.filter { $0.count > 100 } == [])
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test(
        "the pages are what xp compare writes now; make docs updates them",
        arguments: [
            ("comparison", ["--growth", "--monthly-users", "100000"]),
            ("comparison-flagship-evergage", ["--from", "flagship", "--to", "evergage"]),
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

    @Test("the first page has the first screens of both pairs, and links to every scenario")
    func firstScreens() throws {
        func page(_ name: String) throws -> String {
            try String(contentsOf: Tool.root.appending(path: "docs/\(name).md"), encoding: .utf8)
        }
        let whole = try page("comparison")
        for name in ["comparison-flagship-evergage", "comparison-sigma-flagship"] {
            let screen = try #require(
                try page(name).firstMatch(of: /## [^\n]*, in short\n[\s\S]*?(?=\n## Step by step)/)
            )
            let below = screen.output.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.hasPrefix("##") ? "#" + $0 : String($0)
            }
            let text = below.joined(separator: "\n").trimmingCharacters(in: .newlines)
            #expect(text.contains("#### Breaks\n"))
            #expect(whole.contains(text), "\(name)")
        }
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Tool.root.appending(path: "docs/scenarios").path
        )
        #expect(files.filter { !whole.contains("(scenarios/\($0))") } == [])
    }

    /// Leaves out bytes: values from a clock may take a digit more or less.
    static func comparable(_ page: String) -> [String] {
        var byChance: [Int] = []
        return page.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.replacing(/[0-9.]+ (B|kB|MB)/, with: "n") }
            // Two requests at the same moment need two connections: that depends on which one is quicker.
            let names = ["Connections", "Reused", "Round trips"]
            if cells.count < 3 { byChance = [] }
            if line.contains("| Connections |") {
                byChance = cells.indices.filter { names.contains(cells[$0].trimmingCharacters(in: .whitespaces)) }
            } else {
                for place in byChance where cells.indices.contains(place) && cells[place].contains(/[0-9]/) {
                    cells[place] = " n "
                }
            }
            return cells.joined(separator: "|")
        }
    }

    @Test("the matrix of vendors follows its schema")
    func vendors() async throws {
        let result = try await Tool.run(["vendors", "--format", "json"])
        #expect(result.status == 0)
        #expect(try JSONSchema(named: "vendors").problems(of: JSONValue(result.output)) == [])
    }
}
