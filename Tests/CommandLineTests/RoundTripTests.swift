import Foundation
import Testing

@Suite("Exporting waiting events and importing them again")
struct RoundTripTests {
    private static func configuration(_ events: String, in folder: URL) throws -> String {
        try Tool.file(
            """
            {"vendor":"flagship","environmentID":"bkk9glocmjcg0vtmdlng","apiKey":"k","endpoints":{"events":"\(events)"}}
            """,
            "c.json",
            in: folder
        )
    }

    @Test("xp outbox export | xp track keeps everything: ids, times, users, attributes, consent")
    func roundTrip() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Self.configuration("http://127.0.0.1:9/", in: folder)
        let (first, second) = (folder.appending(path: "a.db").path, folder.appending(path: "b.db").path)
        // Flagship rejects events older than four hours.
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let start = Date().addingTimeInterval(-60)
        let lines = (0..<40).map { number in
            let consent = number % 4 == 0 ? "" : #","consent":true"#
            return
                #"{"user":{"id":"u\#(number)","anonymousId":"d\#(number)","attributes":{"n":\#(number)}\#(consent)},"#
                + #""event":{"type":"custom","name":"e","value":\#(number)},"at":"\#(start.addingTimeInterval(Double(number)).formatted(style))"}"#
        }
        func track(_ input: String, _ store: String) async throws -> Tool.Result {
            let track = ["track", "--config", configuration, "--store", store, "--deadline", "0"]
            return try await Tool.run(track, input: input)
        }
        func exported(_ store: String) async throws -> String {
            try await Tool.run(["outbox", "export", "--store", store]).output
        }
        #expect(try await track(lines.joined(separator: "\n"), first).status == 69)
        let out = try await exported(first)
        #expect(out.split(separator: "\n").count == 40)
        let schema = try JSONSchema(named: "event")
        for line in out.split(separator: "\n") { #expect(schema.problems(of: try JSONValue(String(line))) == []) }
        #expect(try await track(out, second).status == 69)
        // Order is kept for each user, not between users.
        let again = try await exported(second)
        #expect(again.split(separator: "\n").sorted() == out.split(separator: "\n").sorted())
        let status = try await Tool.run(["outbox", "status", "--store", second, "--format", "json"])
        #expect(try JSONValue(status.output)["waiting"]?["held"]?.number == 10)
    }

    @Test("xp outbox export | xp track keeps where an event happened, to what the vendor gets")
    func place() async throws {
        let mock = try await ServedMock("evergage")
        let store = mock.folder.appending(path: "a.db").path
        let date = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line =
            #"{"at":"\#(date)","campaignTargets":["a","b"],"event":{"name":"e","type":"custom"},"#
            + #""id":"e-1","session":"s","surface":"home","user":{"id":"u"}}"#
        #expect(try JSONSchema(named: "event").problems(of: try JSONValue(line)) == [])
        let unreachable = try Tool.file(
            #"{"vendor":"evergage","account":"acme","dataset":"engage","endpoints":{"base":"http://127.0.0.1:9/"}}"#,
            "unreachable.json",
            in: mock.folder
        )
        let waiting = ["track", "--config", unreachable, "--store", store, "--deadline", "0"]
        #expect(try await Tool.run(waiting, input: line).status == 69)
        let exported = try await Tool.run(["outbox", "export", "--store", store]).output
        #expect(exported == line + "\n")
        let without = #"{"campaignTargets":null,"event":{"name":"f","type":"custom"},"surface":null,"user":{"id":"u"}}"#
        let tracked = try await Tool.run(["track", "--config", try mock.configuration()], input: exported + without)
        #expect(tracked.status == 0, "\(tracked.errors)")
        let requests = try String(contentsOf: #require(URL(string: mock.url + "/_mock/requests")), encoding: .utf8)
        #expect(requests.replacing("\\", with: "").contains(#""contentZones":["a","b"]"#), "\(requests)")
        _ = try await mock.end()
    }

    @Test(
        "if all waiting events are held, the message says how to release them, and the status is that of nothing delivered"
    )
    func held() async throws {
        let mock = try await ServedMock("flagship")
        let configuration = try mock.configuration()
        let store = mock.folder.appending(path: "outbox.db").path
        let line = #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"}}"#
        let tracked = try await Tool.run(["track", "--config", configuration, "--store", store], input: line)
        let flushed = try await Tool.run(["outbox", "flush", "--config", configuration, "--store", store])
        for result in [tracked, flushed] {
            #expect(result.status == 69)
            #expect(result.errors.contains("1 event waits for its user's consent"))
            #expect(result.errors.contains("\"consent\": true releases"))
        }
        let released = try await Tool.run(
            ["track", "--config", configuration, "--store", store],
            input: #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"f"}}"#
        )
        #expect(released.status == 0, "\(released.errors)")
        #expect(try JSONValue(released.lines.last ?? "")["ledger"]?["delivered"]?.number == 2)
        _ = try await mock.end()
    }
}

@Suite("Input lines")
struct InputLineTests {
    @Test(
        "errors in a line are reported with their position",
        arguments: [
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-02-30T10:00:00Z"}"#,
                "at: expected a day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-02-29T10:00:00Z"}"#,
                "at: expected a day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-11-21T10:60:00.000Z"}"#,
                "at: expected a time of day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-11-21T24:00:00Z"}"#,
                "at: expected a time of day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-11-21T10:00:61Z"}"#,
                "at: expected a time of day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"2026-11-21T10:00:00+24:00"}"#,
                "at: expected a time of day"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e","value":9223372036854775807}}"#,
                "event.value: expected a number of no more than 53 bits, found 9223372036854775807"
            ),
            (
                #"{"user":{"id":"u"},"event":{"type":"purchase","order":{"id":"o","lines":[{"item":{"id":"a"},"quantity":1.5}]}}}"#,
                "event.order.lines[0].quantity: expected a whole number, found 1.5"
            ),
            ("\u{0}\u{0}\u{0}", "line 1"),
            (
                #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"id":"7"}"#,
                "at: expected the time of an event"
            ),
        ]
    )
    func wrong(line: String, message: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let configuration = try Tool.file(
            #"{"vendor":"flagship","environmentID":"e","apiKey":"k","endpoints":{"events":"http://127.0.0.1:9/"}}"#,
            "c.json",
            in: folder
        )
        let result = try await Tool.run(["track", "--config", configuration, "--deadline", "0"], input: line + "\n")
        #expect(result.status == 1, "\(result.errors)")
        #expect(
            try JSONValue(result.lines.first ?? "")["error"]?["message"]?.string?.contains(message) == true,
            "\(result.output)"
        )
    }

    @Test(
        "a time must be complete, with nothing before or after it",
        arguments: [
            "2026-11-21T10:00:00Z+05:30", "2026-11-21T10:00:00.000Zgarbage", "2026-11-21T10:00:00Z and more",
            "2026-11-21T10:00:00-05:30x", "12026-11-21T10:00:00Z", "2026-11-21T1:2:3Z", "yesterday", "",
            "2026-11-21T10:00:00", "2026-11-21T10:00:00Z ",
        ]
    )
    func wrongTime(text: String) async throws {
        try await wrong(
            line: #"{"user":{"id":"u"},"event":{"type":"custom","name":"e"},"at":"\#(text)"}"#,
            message: "at: expected a time as"
        )
    }

    @Test(
        "an empty name isn't accepted as a store",
        arguments: [["track", "--config", "c"], ["outbox", "status"], ["outbox", "export"]]
    )
    func noStore(arguments: [String]) async throws {
        let result = try await Tool.run(arguments + ["--store", ""])
        #expect(result.status == 64)
        #expect(result.complaint.contains("--store: expected the name of a file"))
    }

    @Test("a pipe isn't accepted as a store, and doesn't block", arguments: ["status", "export"])
    func pipeAsStore(command: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        let result = try await Tool.run(["outbox", command, "--store", pipe])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: \(pipe): expected a store file, found a device or a pipe")
    }

    @Test("decisions are written exactly as by JSONEncoder")
    func bytes() async throws {
        let mock = try await ServedMock("flagship")
        for mode in ["decisionAPI", "bucketing"] {
            var members = try JSONValue(String(contentsOfFile: mock.configuration(), encoding: .utf8)).object ?? [:]
            members["mode"] = .string(mode)
            let configuration = String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
            let path = try Tool.file(configuration, "mode.json", in: mock.folder)
            let users = (0..<50).map { #"{"user":{"id":"user-\#($0)","attributes":{"é/\"":\#($0).5},"consent":true}}"# }
            let result = try await Tool.run(["evaluate", "--config", path], input: users.joined(separator: "\n"))
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.lines.count == 50)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            for line in result.lines {
                let value = try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
                #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == line)
            }
        }
        _ = try await mock.end()
    }
}
