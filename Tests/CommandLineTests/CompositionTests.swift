import Foundation
import Testing
import Waiting

@Suite("Several vendors on the command line")
struct CompositionTests {
    private static let text = """
        vendor: composed
        decisions: sigma
        exposures: {event: "experiment_viewed {experiment} {variation}"}
        vendors:
          sigma: {projectToken: any}
          evergage: {account: acme.us-1, dataset: engage}
        """

    private func file(_ text: String = text) throws -> String {
        try Tool.file(text, "composed.yaml", in: Tool.folder())
    }

    @Test("xp vendors prints the capabilities of the composition and its parts")
    func vendors() async throws {
        let result = try await Tool.run(["vendors", "--config", file(), "--format", "json"])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "vendors").problems(of: document) == [])
        let vendors = try #require(document["vendors"]?.array)
        #expect(vendors.compactMap { $0["name"]?.string } == ["composed", "evergage", "sigma"])
        let whole = vendors.first?["capabilities"]?.array?.compactMap(\.string) ?? []
        #expect(Set(whole).isSuperset(of: ["flags", "holdouts", "tracking", "campaigns", "exposures"]))
    }

    @Test("xp compare plays a composition in a column of its own, next to its parts")
    func compare() async throws {
        let arguments = ["--vendor", "sigma", "--vendor", "evergage", "--without-timings", "--format", "json"]
        let result = try await Tool.run(["compare", "--config", file()] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        let vendors = try #require(try JSONValue(result.output)["comparison"]?["vendors"]?.array)
        #expect(vendors.compactMap { $0["name"]?.string } == ["sigma", "evergage", "composed"])
        #expect(vendors.last?["lost"]?.number == 0)
    }

    @Test("an invalid table is reported in one line with the key")
    func bad() async throws {
        let result = try await Tool.run(["vendors", "--config", file(Self.text + "\nevents: {purchase: nobody}")])
        #expect(result.status == 66)
        #expect(
            result.complaint.hasSuffix(#""events.purchase": there is no vendor "nobody"; there are evergage, sigma"#)
        )
    }

    @Test("a row to a vendor that doesn't support the event is rejected at the start, with file and key")
    func withoutWord() async throws {
        let path = try file(Self.text + "\nevents: {purchase: sigma}")
        let result = try await Tool.run(["track", "--config", path], input: "")
        #expect(result.status == 66)
        #expect(result.errors.contains("xp: \(path): \"events.purchase\": sigma takes no events\n"), "\(result.errors)")
    }

    @Test("events wait while the disk is full, and the reason is reported")
    func fullDisk() async throws {
        let path = try file(
            """
            vendor: composed
            decisions: sigma
            events: {"*": file}
            vendors: {sigma: {projectToken: any}, file: {path: /dev/full}}
            """
        )
        let line = #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"e"}}"#
        let store = URL(filePath: path).deletingLastPathComponent().appending(path: "events.db").path
        let arguments = ["track", "--config", path, "--store", store, "--deadline", "1"]
        let result = try await Tool.run(arguments, input: line)
        #expect(result.status == 69)
        #expect(
            result.errors.contains("the events' file can't be written: No space left on device"),
            "\(result.errors)"
        )
    }

    @Test("a composition supports every step of the shop's story, and each report names the vendor that does")
    func story() async throws {
        let path = try file(
            """
            vendor: composed
            name: shop
            decisions: flagship
            vendors:
              flagship: {environmentID: any, apiKey: any}
              evergage: {account: acme.us-1, dataset: engage}
              warehouse: {vendor: file, path: /any/events.jsonl}
            """
        )
        let arguments = ["compare", "--config", path, "--without-timings", "--format"]
        let result = try await Tool.run(arguments + ["json"])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONValue(result.output)
        #expect(try JSONSchema(named: "comparison").problems(of: document) == [])
        let comparison = try #require(document["comparison"])
        let vendors = try #require(comparison["vendors"]?.array)
        #expect(
            vendors.compactMap { $0["name"]?.string } == ["flagship", "sigma", "engage", "evergage", "ofrep", "shop"]
        )
        let steps = try #require(comparison["steps"]?.array)
        let shop = try #require(vendors.last?["outcomes"]?.array)
        #expect(shop.compactMap { $0["kind"]?.string }.filter { $0 != "done" && $0 != "failed" } == [])
        #expect(shop.count == steps.count)
        var parties: [String: Set<[String]>] = [:]
        for (step, outcome) in zip(steps, shop) {
            let by = outcome["by"]?.array?.compactMap(\.string) ?? []
            if !by.isEmpty { parties[step["action"]?.string ?? "?", default: []].insert(by) }
        }
        #expect(parties["read"] == [["flagship"]] && parties["see"] == [["flagship"]])
        #expect(parties["track"]?.contains(["evergage", "flagship", "warehouse"]) == true, "\(parties)")
        for single in vendors.dropLast() {
            #expect(single["outcomes"]?.array?.allSatisfy { $0["by"] == nil } == true)
        }
        for format in ["text", "markdown", "html"] {
            let text = try await Tool.run(arguments + [format]).output.replacing(/\s+/, with: " ")
            #expect(text.contains("by flagship"), "\(format)")
            #expect(text.contains("by evergage, flagship, warehouse"), "\(format)")
        }
    }

    @Test(
        "an event accepted once reaches both destinations although the process was killed in between",
        arguments: [1, 40]
    )
    func killed(delivered: Int) async throws {
        let mock = try await ServedMock("flagship")
        let silence = try Silence()
        let lines = mock.folder.appending(path: "warehouse.jsonl").path
        // What xp mock prints is the vendor's settings, also within a composition.
        func composed(_ flagship: String, _ name: String) throws -> String {
            let text = #"{"vendor":"composed","vendors":{"flagship":\#(flagship),"file":{"path":"\#(lines)"}}}"#
            return try Tool.file(text, name, in: mock.folder)
        }
        let silent = try composed(
            mock.line.replacing(mock.url, with: "http://127.0.0.1:\(silence.port)"),
            "silent.json"
        )
        let input = (0..<40).map { number in
            #"{"user":{"id":"u-\#(number % 3)","consent":true},"event":{"type":"custom","name":"e-\#(number)-e"}}"#
        }
        let store = mock.folder.appending(path: "outbox.db").path
        let events = try Tool.file(input.joined(separator: "\n"), "events.jsonl", in: mock.folder)
        let running = try Running([
            "track", "--config", silent, "--store", store, "--input", events, "--deadline", "600",
        ])
        func books() async throws -> [String: JSONValue] {
            let status = try await Tool.run(["outbox", "status", "--store", store, "--format", "json"])
            let all = (try? JSONValue(status.output)["destinations"]?.array) ?? []
            return Dictionary(
                all.compactMap { book in
                    guard let name = book["provider"]?.string, let ledger = book["ledger"] else { return nil }
                    return (name, ledger)
                },
                uniquingKeysWith: { $1 }
            )
        }
        try await eventually("\(delivered) events in the file's book") {
            (try await books()["file"]?["delivered"]?.number ?? 0) >= Double(delivered)
        }
        running.kill()
        _ = try await running.result()
        let before = try await books()
        let accepted = try #require(before["file"]?["accepted"]?.number)
        #expect(accepted >= Double(delivered) && before["flagship"]?["accepted"]?.number == accepted)
        #expect(before["flagship"]?["delivered"]?.number == 0)
        let config = try composed(mock.line, "composed.json")
        let flushed = try await Tool.run(["outbox", "flush", "--store", store, "--config", config])
        #expect(flushed.status == 0, "\(flushed.errors)")
        for (name, book) in try await books() {
            #expect(book["accepted"]?.number == accepted && book["delivered"]?.number == accepted, "\(name): \(book)")
        }
        let written = try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n").map {
            try JSONValue(String($0))
        }
        let names = Set(written.compactMap { $0["event"]?["name"]?.string })
        #expect(names.count == Int(accepted))
        // A line that was written and not yet noted is written again, with its id.
        #expect(Set(written.compactMap { $0["id"]?.string }).count == names.count)
        let requests = try String(contentsOf: try #require(URL(string: mock.url + "/_mock/requests")), encoding: .utf8)
        #expect(names.filter { !requests.contains($0) } == [])
        _ = try await mock.end()
    }
}
