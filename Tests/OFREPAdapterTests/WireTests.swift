import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import Testing

@testable import OFREPAdapter

@Suite("OFREP on the wire")
struct WireTests {
    private static func reply(_ bytes: [UInt8], status: HTTPResponse.Status = 200) -> HTTPReply {
        HTTPReply(response: HTTPResponse(status: status), body: bytes)
    }

    @Test("a bulk evaluation is read completely")
    func bulk() throws {
        let evaluation = try OFREPEvaluation(Self.reply(try Samples.fixture("bulk.json")))
        let expected: [(key: String, resolution: Resolution)] = [
            (
                "discount-banner",
                Resolution(
                    true,
                    variant: "enabled",
                    reason: .targetingMatch,
                    metadata: ["team": "shop", "version": 3, "beta": false]
                )
            ),
            ("checkout-color", Resolution("green", variant: "b", reason: .split)),
            ("page-size", Resolution(20, variant: "default", reason: .static)),
            ("ratio", Resolution(3.1415, variant: "default", reason: .static)),
            ("theme", Resolution(["dark": true, "accent": "#ff0000"], variant: "default", reason: .static)),
            ("left-to-the-code", Resolution(.null, variant: "off", reason: .disabled)),
            ("broken", .unreadable(.parseError, "The server can't read the flag's definition.")),
            ("who-are-you", .unreadable(.targetingKeyMissing, "The server misses the user's id.")),
        ]
        #expect(evaluation.decisions == Decisions(flags: expected))
        #expect(evaluation.complaints == [])
        let streams = evaluation.streams.map { OFREPStream($0, of: Samples.base) }
        #expect(
            streams == [
                try Samples.stream("https://events.example.com/sse?channels=a_b&token=t"),
                try Samples.stream("https://flags.example.com/ofrep/v1/sse?x=1"),
                try Samples.stream("https://events.example.com/sse"),
            ]
        )
    }

    @Test(
        "an event stream is read in any chunks and with any line ends",
        arguments: [1, 2, 3, 7, 1_000],
        ["\n", "\r", "\r\n"]
    )
    func events(part: Int, end: String) throws {
        let text = String(decoding: try Samples.fixture("events.txt"), as: UTF8.self)
        let bytes = Array(text.replacing("\n", with: end).utf8)
        var reader = OFREPEventReader()
        var messages: [OFREPEventReader.Message] = []
        for start in stride(from: 0, to: bytes.count, by: part) {
            messages += reader.take(Array(bytes[start..<min(start + part, bytes.count)]))
        }
        #expect(messages.map(\.id) == ["1", "2", "3"])
        #expect(
            messages.map { OFREPEvent(data: $0.data) } == [
                OFREPEvent(etag: "abc123", lastModified: "1771622898"), nil, OFREPEvent(),
            ]
        )
    }

    @Test(
        "an invalid or forbidden address isn't accepted as a stream",
        arguments: [
            "javascript:alert(1)", "http://events.example.com/", "https://user:secret@events.example.com/", "",
            "https://",
            "//events.example.com/", "https://events.example.com/a b", "ftp://events.example.com/",
            "https://events.example.com/\u{7}", "https://events.example.com/" + String(repeating: "x", count: 9_000),
        ]
    )
    func addresses(url: String) throws {
        let announcement = try #require(OFREPStream.Announcement(["type": "sse", "url": .string(url)]))
        #expect(OFREPStream(announcement, of: Samples.base) == nil)
    }

    @Test("a stream's last id outlives its connection, and an emptied one isn't sent")
    func lastEventID() throws {
        var reader = OFREPEventReader(after: "7")
        #expect(reader.take(Array("data: a\n\n".utf8)).map(\.id) == ["7"])
        #expect(reader.take(Array("id\ndata: a\n\n".utf8)).map(\.id) == [""])
        let requests = OFREPRequests(OFREPConfiguration(baseURL: Samples.base))
        let request = try requests.stream(try Samples.stream("https://flags.example.com/sse"), after: "")
        #expect(request.headerFields[try #require(HTTPField.Name("Last-Event-ID"))] == nil)
    }

    @Test("credentials are sent to the server's own address only")
    func credentials() throws {
        var configuration = OFREPConfiguration(baseURL: Samples.base, token: "t", apiKey: "k", headers: ["X-Env": "e"])
        configuration.changes = .events
        let requests = OFREPRequests(configuration)
        let own = try requests.stream(try Samples.stream("https://flags.example.com/sse"), after: "7")
        #expect(own.headerFields[.authorization] == "Bearer t")
        #expect(own.headerFields[try #require(HTTPField.Name("X-API-Key"))] == "k")
        #expect(own.headerFields[try #require(HTTPField.Name("X-Env"))] == "e")
        #expect(own.headerFields[try #require(HTTPField.Name("Last-Event-ID"))] == "7")
        for elsewhere in ["https://flags.example.com:444/sse", "https://evil.example/sse"] {
            let request = try requests.stream(try Samples.stream(elsewhere), after: nil)
            #expect(Set(request.headerFields.map(\.name)) == [.accept, .cacheControl], "\(elsewhere)")
        }
    }

    @Test(
        "a pause is read in seconds, as an HTTP date, or as the protocol's date",
        arguments: [
            ("30", 30.0), (" 1.5 ", 1.5), ("2026-11-21T10:00:30Z", 30), ("Sat, 21 Nov 2026 10:00:30 GMT", 30),
            ("2026-11-21T09:00:00Z", 0), ("99999999999999999999", 86_400), ("9999-12-31T00:00:00Z", 86_400),
            ("-5", nil), ("soon", nil), ("", nil), ("1e3", nil), ("nan", nil),
        ]
    )
    func pauses(text: String, seconds: Double?) {
        let wait = OFREPErrors.wait(in: [.retryAfter: text], date: Date(timeIntervalSince1970: 1_795_255_200))
        #expect(wait == seconds.map { .seconds($0) })
    }

    @Test("a rejection contains the server's reason")
    func refusal() throws {
        let reply = Self.reply(try Samples.fixture("refusal.json"), status: 400)
        #expect(OFREPErrors.failure(of: reply, isConditional: false)?.code == .invalidContext)
    }

    /// Invalid settings, by the name that the error must contain.
    static let unusable: [(String, @Sendable (inout OFREPConfiguration) -> Void)] = [
        ("timeout", { $0.timeout = .zero }),
        ("pollingInterval", { $0.pollingInterval = .zero }),
        ("token", { $0.token = "a\nb" }),
        ("apiKey", { $0.apiKey = "" }),
        ("headers", { $0.headers = ["a b": "c"] }),
        ("headers", { $0.headers = ["Authorization": "c"] }),
        ("headers", { $0.headers = ["if-none-match": "c"] }),
        ("X-Env and x-env", { $0.headers = ["x-env": "a", "X-Env": "b", "x-other": "c"] }),
        ("Host", { $0.headers = ["Host": "c"] }),
        ("asked once", { $0.retry = HTTPRetry(attempts: 0) }),
    ]

    @Test("invalid settings are rejected by name", arguments: unusable)
    func settings(name: String, change: @Sendable (inout OFREPConfiguration) -> Void) {
        var configuration = OFREPConfiguration(baseURL: Samples.base, token: "t")
        change(&configuration)
        #expect { try configuration.validate() } throws: { "\($0)".lowercased().contains(name.lowercased()) }
    }

    @Test("a configuration file is read; a secret comes from the environment")
    func reading() throws {
        let text = """
            {"baseURL":"https://flags.example.com/app","token":{"env":"T"},"headers":{"X-Env":{"env":"E"}},
             "changes":"polling"}
            """
        var reader = try SettingsReader(json: Array(text.utf8), file: "f", environment: ["T": "t", "E": "e"])
        let configuration = try OFREPConfiguration(reading: &reader)
        try reader.finish()
        #expect(configuration.baseURL == Samples.base)
        #expect(configuration.token?.reveal() == "t")
        #expect(configuration.headers.mapValues { $0.reveal() } == ["X-Env": "e"])
        #expect(configuration.changes == .polling)
    }

    @Test(
        "an invalid configuration file is rejected by key",
        arguments: [
            ("{}", "baseURL"), (#"{"baseURL":"http://flags.example.com"}"#, "baseURL"),
            (#"{"baseURL":"https://f.example","changes":"often"}"#, "changes"),
            (#"{"baseURL":"https://f.example","headers":7}"#, "headers"),
            (#"{"baseURL":"https://f.example","headers":{"a":7}}"#, "headers.a"),
            (#"{"baseURL":"https://f.example","token":{"env":"T"}}"#, "token"),
        ]
    )
    func misreading(text: String, key: String) throws {
        var reader = try SettingsReader(json: Array(text.utf8), file: "f")
        #expect { _ = try OFREPConfiguration(reading: &reader) } throws: { "\($0)".contains(key) }
    }

    @Test("another address, token, key or header is another account")
    func accounts() {
        let all = [
            OFREPConfiguration(baseURL: Samples.base),
            OFREPConfiguration(baseURL: Endpoint(https: "other.example.com")),
            OFREPConfiguration(baseURL: Samples.base, token: "a"),
            OFREPConfiguration(baseURL: Samples.base, apiKey: "a"),
            OFREPConfiguration(baseURL: Samples.base, headers: ["a": "a"]),
        ]
        #expect(Set(all.map { OFREPProvider(configuration: $0).destination.account }).count == all.count)
    }
}
