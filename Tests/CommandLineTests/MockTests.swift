import Foundation
import Testing
import Waiting

/// A mock started by `xp mock`, and a configuration file for it.
struct ServedMock {
    let running: Running
    let line: String
    let head: JSONValue
    let folder: URL

    init(_ vendor: String, _ arguments: [String] = [], input: String? = nil) async throws {
        running = try Running(["mock", vendor] + arguments, input: input)
        line = try await running.firstLine()
        head = try JSONValue(line)
        folder = try Tool.folder()
    }

    var url: String { head["url"]?.string ?? "" }

    /// Writes a configuration file that points to the mock.
    func configuration(_ extra: String = "") throws -> String {
        let vendor = head["vendor"]?.string ?? ""
        // By default Flagship waits two seconds for decisions, which a busy machine can take.
        let extra = vendor == "flagship" && !extra.contains("timeout") ? extra + #","timeout":60"# : extra
        let credentials = head["credentials"]?.object ?? [:]
        let endpoints = (head["endpoints"]?.object ?? [:])
            .compactMap { name, value in value.string.map { "\"\(name)\":\"\($0)\"" } }.sorted()
        let settings = credentials.compactMap { name, value in value.string.map { "\"\(name)\":\"\($0)\"" } }.sorted()
        let text = """
            {"vendor":"\(vendor)",\(settings.joined(separator: ","))\(extra),
             "endpoints":{\(endpoints.joined(separator: ","))}}
            """
        return try Tool.file(text, "configuration.json", in: folder)
    }

    func end() async throws -> Tool.Result {
        running.terminate()
        let result = try await running.result()
        try? FileManager.default.removeItem(at: folder)
        return result
    }
}

@Suite("xp mock, evaluate, track and outbox", .serialized)
struct MockTests {
    @Test("the first line of a mock is JSON that follows its schema; it answers, and ends on a signal")
    func mock() async throws {
        let mock = try await ServedMock("flagship")
        #expect(try JSONSchema(named: "mock").problems(of: mock.head) == [])
        let url = try #require(URL(string: mock.url + "/_mock/requests"))
        let text = try String(contentsOf: url, encoding: .utf8)
        #expect(try JSONValue(text) == .array([]))
        let result = try await mock.end()
        #expect(result.status == 0)
        #expect(result.lines.count == 1)
    }

    @Test(
        "the output of a mock is a valid configuration, unchanged or put together by hand",
        arguments: ["flagship", "sigma", "engage", "evergage", "ofrep"]
    )
    func printedConfiguration(vendor: String) async throws {
        let mock = try await ServedMock(vendor)
        let schema = try JSONSchema(named: "configuration-\(vendor)")
        let byHand = try mock.configuration()
        #expect(schema.problems(of: try JSONValue(String(contentsOfFile: byHand, encoding: .utf8))) == [])
        let asItIs = try Tool.file(mock.line, "mock.json", in: mock.folder)
        for path in [byHand, asItIs] {
            let evaluated = try await Tool.run(
                ["evaluate", "--config", path],
                input: #"{"user":{"id":"a","consent":true}}"# + "\n"
            )
            let line = try JSONValue(evaluated.output)
            if ["flagship", "sigma", "ofrep"].contains(vendor) {
                #expect(evaluated.status == 0, "\(evaluated.errors)")
                #expect(line["error"] == .null && line["decisions"]?.object?.isEmpty == false)
            } else {
                #expect(line["error"]?["code"]?.string == "UNSUPPORTED", "\(evaluated.errors)")
            }
            guard !["sigma", "ofrep"].contains(vendor) else { continue }
            let tracked = try await Tool.run(
                ["track", "--config", path],
                input: #"{"user":{"id":"a","consent":true},"event":{"type":"custom","name":"hello"}}"# + "\n"
            )
            #expect(tracked.status == 0, "\(tracked.errors)")
            #expect(try JSONValue(tracked.lines.last ?? "")["ledger"]?["delivered"]?.number == 1)
        }
        _ = try await mock.end()
    }

    @Test("a port in use has status 69 and one line that names it")
    func portInUse() async throws {
        let mock = try await ServedMock("flagship")
        let port = mock.url.split(separator: ":").last.map(String.init) ?? ""
        let result = try await Tool.run(["mock", "evergage", "--port", port])
        #expect(result.status == 69)
        #expect(result.complaint.contains("port \(port) on 127.0.0.1 is in use"))
        #expect(result.output == "")
        _ = try await mock.end()
    }

    @Test("a mock accepts a neutral world and the vendor's own format, and rejects anything else")
    func worlds() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let world = try Tool.file(
            #"{"name":"w","flags":[{"key":"only","value":7}],"users":[{"id":"a"}]}"#,
            "world.json",
            in: folder
        )
        let mock = try await ServedMock("flagship", ["--world", world])
        let result = try await Tool.run(
            ["evaluate", "--config", try mock.configuration()],
            input: #"{"user":{"id":"a","consent":true}}"# + "\n"
        )
        #expect(try JSONValue(result.output)["decisions"]?["only"]?["value"] == .number(7))
        _ = try await mock.end()
        for (text, message) in [
            (#"{"name":"w","flugs":[]}"#, "flugs: unknown key"), (#"{"neither":1}"#, "own format"), ("", "is empty"),
        ] {
            let path = try Tool.file(text, "bad.json", in: folder)
            let refused = try await Tool.run(["mock", "flagship", "--world", path])
            #expect(refused.status == 66)
            #expect(refused.complaint.contains(message), "\(refused.errors)")
        }
    }

    @Test("users keep their input order, with errors in place of malformed lines")
    func evaluate() async throws {
        let mock = try await ServedMock("flagship")
        // Many users at once: on a busy machine, the last of them waits longer than Flagship's two seconds.
        let configuration = try mock.configuration(",\"timeout\":600")
        var lines = (0..<300).map { #"{"user":{"id":"user-\#($0)","attributes":{"n":\#($0)},"consent":true}}"# }
        lines[7] = "{nonsense"
        lines[8] = #"{"user":{"id":""}}"#
        lines[9] = #"{"user":{"id":"x","colour":1}}"#
        lines[10] = #"{"user":{"id":"x"},"asignments":{}}"#
        let result = try await Tool.run(["evaluate", "--config", configuration], input: lines.joined(separator: "\n"))
        #expect(result.status == 1)
        #expect(result.lines.count == 300)
        let schema = try JSONSchema(named: "evaluation")
        for (index, text) in result.lines.enumerated() {
            let line = try JSONValue(text)
            #expect(schema.problems(of: line) == [], "line \(index)")
            guard ![7, 8, 9, 10].contains(index) else {
                #expect(line["error"]?["line"]?.number == Double(index + 1))
                continue
            }
            #expect(line["user"]?["id"]?.string == "user-\(index)")
            #expect(line["decisions"]?["checkout-color"]?["value"]?.string == "green")
            #expect(line["error"] == .null)
        }
        let codes = try [7, 8, 9, 10].map { try JSONValue(result.lines[$0])["error"]?["code"]?.string }
        #expect(codes == ["PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "INVALID_CONTEXT"])
        _ = try await mock.end()
    }

    @Test(
        "only read-only cases run against a configured address, for every vendor",
        arguments: ["flagship", "sigma", "engage", "evergage", "ofrep"]
    )
    func live(vendor: String) async throws {
        let mock = try await ServedMock(vendor)
        let result = try await Tool.run([
            "conform", "--config", try mock.configuration(), "--live", "--format", "json",
        ])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let subject = try JSONValue(result.output)["subjects"]?[0]
        #expect(subject?["name"]?.string == "\(vendor)-live")
        let cases = subject?["cases"]?.array?.compactMap { $0["name"]?.string } ?? []
        let listed = try await Tool.run(["conform", "--list", "--format", "json"])
        let safe = try JSONValue(listed.output)["cases"]?.array?.filter { $0["live"] == .bool(true) } ?? []
        #expect(cases == safe.compactMap { $0["name"]?.string })
        #expect(cases.count >= 10)
        let url = try #require(URL(string: mock.url + "/_mock/requests"))
        let journal = try JSONValue(String(contentsOf: url, encoding: .utf8))
        #expect(journal.array?.isEmpty == false, "the vendor was asked something")
        _ = try await mock.end()
    }

    @Test("a live run uses the configured mode")
    func liveMode() async throws {
        let mock = try await ServedMock("flagship")
        let result = try await Tool.run([
            "conform", "--config", try mock.configuration(",\"mode\":\"bucketing\""), "--live", "--format", "json",
        ])
        #expect(result.status == 0, "\(result.output)")
        let declared = try JSONValue(result.output)["subjects"]?[0]?["capabilities"]?.array?.compactMap(\.string)
        #expect(declared?.contains("local-evaluation") == true)
        _ = try await mock.end()
    }

    @Test("a vendor without decisions is reported for each user, with status 1")
    func evaluateUnsupported() async throws {
        let mock = try await ServedMock("evergage")
        let result = try await Tool.run(
            ["evaluate", "--config", try mock.configuration()],
            input: #"{"user":{"id":"a"}}"# + "\n" + #"{"user":{"id":"b"}}"# + "\n"
        )
        #expect(result.status == 1)
        #expect(result.lines.count == 2)
        for line in result.lines { #expect(try JSONValue(line)["error"]?["code"]?.string == "UNSUPPORTED") }
        _ = try await mock.end()
    }

    @Test("an unreachable vendor has status 69, with an error for each user")
    func evaluateUnreachable() async throws {
        let mock = try await ServedMock("flagship")
        let configuration = try mock.configuration()
        mock.running.terminate()
        _ = try await mock.running.result()
        let result = try await Tool.run(
            ["evaluate", "--config", configuration],
            input: #"{"user":{"id":"a","consent":true}}"# + "\n"
        )
        #expect(result.status == 69)
        #expect(try JSONValue(result.output)["error"]?["code"]?.string == "TRANSPORT")
        #expect(result.complaint.contains("flagship can't be reached"))
        try? FileManager.default.removeItem(at: mock.folder)
    }

    @Test("events are delivered, malformed ones have their error, and the ledger comes last")
    func track() async throws {
        let mock = try await ServedMock("flagship")
        var lines = (0..<50).map {
            #"{"user":{"id":"u-\#($0 % 5)","consent":true},"event":{"type":"custom","name":"e\#($0)"}}"#
        }
        lines[3] = "nonsense"
        lines[4] = #"{"user":{"id":"u"},"event":{"type":"jump"}}"#
        lines[5] = #"{"user":{"id":"u"},"event":{"type":"custom"}}"#
        lines[6] = #"{"user":{"id":"u","consent":true},"event":{"type":"share","item":{"id":"x"}}}"#
        lines[7] = #"{"user":{"id":"u"},"event":{"type":"custom","name":"a"},"at":"yesterday"}"#
        let store = mock.folder.appending(path: "outbox.db").path
        let result = try await Tool.run(
            ["track", "--config", try mock.configuration(), "--store", store],
            input: lines.joined(separator: "\n")
        )
        #expect(result.status == 1)
        let ledger = try JSONValue(result.lines.last ?? "")
        #expect(try JSONSchema(named: "ledger").problems(of: ledger) == [])
        #expect(ledger["ledger"]?["accepted"]?.number == 45)
        #expect(ledger["ledger"]?["delivered"]?.number == 45)
        let errors = try result.lines.dropLast().map { try JSONValue($0) }
        let schema = try JSONSchema(named: "track-error")
        for error in errors { #expect(schema.problems(of: error) == []) }
        #expect(errors.map { $0["line"]?.number } == [4, 5, 6, 7, 8])
        #expect(
            errors.map { $0["error"]?["code"]?.string } == [
                "PARSE_ERROR", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "UNSUPPORTED", "INVALID_ARGUMENT",
            ]
        )
        let status = try await Tool.run(["outbox", "status", "--store", store, "--format", "json"])
        let document = try JSONValue(status.output)
        #expect(try JSONSchema(named: "ledger").problems(of: document) == [])
        #expect(document["ledger"] == ledger["ledger"])
        let owed = try #require(document["destinations"]?.array)
        #expect(owed.map { $0["provider"]?.string } == ["flagship"])
        #expect(owed.first?["ledger"] == document["ledger"])
        _ = try await mock.end()
    }

    @Test("without a store, a warning says that events may be lost")
    func trackWithoutStore() async throws {
        let mock = try await ServedMock("flagship")
        let result = try await Tool.run(
            ["track", "--config", try mock.configuration()],
            input: #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"a"}}"#
        )
        #expect(result.status == 0)
        #expect(result.errors.contains("without --store"))
        #expect(try JSONValue(result.output)["ledger"]?["delivered"]?.number == 1)
        _ = try await mock.end()
    }

    @Test("events for an unreachable vendor are kept, listed, exported, and delivered later")
    func outbox() async throws {
        let mock = try await ServedMock("flagship")
        let configuration = try mock.configuration()
        let port = mock.url.split(separator: ":").last.map(String.init) ?? ""
        let store = mock.folder.appending(path: "outbox.db").path
        mock.running.terminate()
        _ = try await mock.running.result()
        let lines = (0..<20).map { #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"e\#($0)"}}"# }
        let tracked = try await Tool.run(
            ["track", "--config", configuration, "--store", store, "--deadline", "1"],
            input: lines.joined(separator: "\n")
        )
        #expect(tracked.status == 69)
        #expect(try JSONValue(tracked.lines.last ?? "")["ledger"]?["pending"]?.number == 20)
        let status = try JSONValue(
            try await Tool.run(["outbox", "status", "--store", store, "--format", "json"]).output
        )
        #expect(status["waiting"]?["failures"]?.object?.isEmpty == false)
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.status == 0)
        let schema = try JSONSchema(named: "event")
        let events = try exported.lines.map { try JSONValue($0) }
        for event in events { #expect(schema.problems(of: event) == []) }
        #expect(events.map { $0["event"]?["name"]?.string } == (0..<20).map { "e\($0)" })
        let again = try await ServedMock("flagship", ["--port", port])
        let flushed = try await Tool.run(["outbox", "flush", "--store", store, "--config", configuration])
        #expect(flushed.status == 0, "\(flushed.errors)")
        #expect(try JSONValue(flushed.output)["ledger"]?["delivered"]?.number == 20)
        _ = try await again.end()
        try? FileManager.default.removeItem(at: mock.folder)
    }

    @Test("track keeps everything on a signal and ends within five seconds")
    func interrupted() async throws {
        let mock = try await ServedMock("flagship")
        let configuration = try mock.configuration()
        let store = mock.folder.appending(path: "outbox.db").path
        mock.running.terminate()
        _ = try await mock.running.result()
        let lines = (0..<2000).map {
            #"{"user":{"id":"u-\#($0 % 9)","consent":true},"event":{"type":"custom","name":"e"}}"#
        }
        let path = try Tool.file(lines.joined(separator: "\n"), "events.jsonl", in: mock.folder)
        let running = try Running([
            "track", "--config", configuration, "--store", store, "--input", path, "--deadline", "60",
        ])
        // Terminated while it tries to deliver, after everything was accepted.
        try await Tool.untilAccepted(2_000, store)
        let start = ContinuousClock.now
        running.terminate()
        let result = try await running.result()
        if isSoak { #expect(start.duration(to: .now) < .seconds(5)) }
        #expect(result.status == 0, "\(result.errors)")
        let ledger = try JSONValue(result.lines.last ?? "")["ledger"]
        #expect(ledger?["accepted"]?.number == 2000)
        #expect(ledger?["pending"]?.number == 2000)
        try? FileManager.default.removeItem(at: mock.folder)
    }
}
