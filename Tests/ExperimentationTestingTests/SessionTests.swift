import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Sessions in an application's tests")
struct SessionTests {
    @Test("a flag has another value while a closure runs, and then its former one")
    func override() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("theme", "light"), InMemoryFlag("size", 1)])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try await session.refresh()
        await client.withFlag("theme", as: "dark") {
            #expect(session.details("theme", default: "none").reason == .localOverride)
            await client.withFlag("theme", as: "blue") { #expect(session.string("theme", default: "none") == "blue") }
            #expect(session.string("theme", default: "none") == "dark")
            #expect(session.int("size", default: 0) == 1)
        }
        #expect(session.string("theme", default: "none") == "light")
        #expect(client.flagOverrides == [:])
        await #expect(throws: CancellationError.self) {
            try await client.withFlag("theme", as: "dark") { throw CancellationError() }
        }
        #expect(client.flagOverrides == [:])
        await client.shutdown()
    }

    @Test("records are listed in order, in short form, for all users or for one")
    func happenings() async throws {
        let provider = InMemoryProvider()
        let client = try await ExperimentationClient(provider: provider)
        for id in ["u-1", "u-2"] {
            let session = client.session(for: User(id: id, consent: .granted))
            try await session.track(.screenView("cart"))
            try await session.track(.custom("paid", value: 3))
        }
        try await client.flush()
        let one: [Happening] = [.event("screenView", "cart"), .event("custom", "paid")]
        #expect(provider.happenings(of: "u-2") == one)
        #expect(provider.happenings().count == 4)
        let assignment = Assignment(
            experiment: Experiment(id: "checkout", name: "Checkout", kind: "ab"),
            variation: Variation(id: "b", name: "B", isControl: false)
        )
        let exposure = TrackingEvent(.exposure(Exposure(assignment: assignment)))
        #expect(Happening(exposure) == .exposure("checkout", "b"))
        await client.shutdown()
    }

    @Test("the exposure of a read is listed among the events at its place")
    func exposuresInOrder() async throws {
        let experiment = InMemoryExperiment(
            Experiment(id: "checkout"),
            arms: [.init(Variation(id: "b"), weight: 100, flags: ["color": "blue"])]
        )
        let provider = InMemoryProvider(experiments: [experiment])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try await session.refresh()
        try await session.track(.screenView("cart"))
        for _ in 0..<2 { #expect(session.string("color", default: "red") == "blue") }
        try await session.track(.custom("paid"))
        try await client.flush()
        #expect(
            provider.happenings() == [
                .event("screenView", "cart"), .exposure("checkout", "b"), .event("custom", "paid"),
            ]
        )
        await client.shutdown()
    }

    @Test("a recorded session is played back, failures included, and contains no credentials")
    func playback() async throws {
        let recorder = RecordingTransport(
            ScriptedTransport([
                .json(#"{"n":1}"#), .json(#"{"n":2}"#, status: 500), .failure(ExperimentationError(.timeout, "late")),
                .status(304, headers: [.setCookie: "cookie-canary", .eTag: "7"]),
            ])
        )
        func send(_ transport: any HTTPTransport, _ path: String) async -> String {
            let request = HTTPRequest(
                method: .get,
                scheme: "https",
                authority: "example.com",
                path: path,
                headerFields: [.authorization: "token-canary"]
            )
            do throws(ExperimentationError) {
                let reply = try await transport.send(request, body: [], limits: HTTPLimits())
                return "\(reply.status) \(reply.text) \(reply.response.headerFields[.eTag] ?? "")"
            } catch {
                return error.code.rawValue
            }
        }
        let paths = ["/a", "/a", "/b?x=1", "/c"]
        var lived: [String] = []
        for path in paths { lived.append(await send(recorder, path)) }
        let file = try JSONEncoder().encode(recorder.recording)
        #expect(!String(decoding: file, as: UTF8.self).contains("canary"))
        let player = ScriptedTransport(playing: try JSONDecoder().decode(Recording.self, from: file))
        var played: [String] = []
        // The order differs between paths but is the same for each path.
        for path in ["/c", "/a", "/b?x=1", "/a", "/a", "/d"] { played.append(await send(player, path)) }
        #expect(played == [lived[3], lived[0], lived[2], lived[1], lived[1], "TRANSPORT"])
    }

    /// A token exchange and a request to a vendor, with credentials in every place that a vendor may want them.
    private struct Visit {
        var secret: String
        var token: String

        /// The texts of the answers.
        func answers(of transport: any HTTPTransport) async throws -> [String] {
            func post(_ path: String, _ body: String) async throws -> String {
                let request = HTTPRequest(method: .post, scheme: "https", authority: "example.com", path: path)
                return try await transport.send(request, body: Array(body.utf8), limits: HTTPLimits()).text
            }
            return [
                try await post(
                    "/oauth/token?access_token=\(token)&region=eu",
                    "grant_type=refresh_token&client_id=app&client_secret=\(secret)&refresh_token=\(token)"
                ),
                try await post(
                    "/login",
                    #"{"user": "ada", "Password" : "\#(secret)\"", "list": [1.0, {"accessToken":"\#(token)"}]}"#
                ),
                try await post("/xml", "<Envelope><Name>refresh_token=&amp;</Name></Envelope>"),
            ]
        }
    }

    @Test("known credentials in paths, bodies and answers are redacted, and playback asks for none of them")
    func redaction() async throws {
        let lived = [
            #"{"access_token":"canary-\u00e4\"x", "expires_in" : 3600,"refresh_token":"canary-2","scope":"all"}"#,
            #"{"ok":true,"flags":[{"key":"access_token"},{"client_secret":null}]}"#, "<Answer/>",
        ]
        let recorder = RecordingTransport(ScriptedTransport(lived.map { .json($0) }))
        #expect(try await Visit(secret: "canary-3", token: "canary-4").answers(of: recorder) == lived)

        let exchanges = recorder.recording.exchanges
        #expect(
            exchanges.map(\.path) == ["/oauth/token?access_token=redacted&region=eu", "/login", "/xml"]
        )
        #expect(
            exchanges.map { String(decoding: $0.body, as: UTF8.self) } == [
                "grant_type=refresh_token&client_id=app&client_secret=redacted&refresh_token=redacted",
                #"{"user": "ada", "Password" : "redacted", "list": [1.0, {"accessToken":"redacted"}]}"#,
                "<Envelope><Name>refresh_token=&amp;</Name></Envelope>",
            ]
        )
        let kept = [
            #"{"access_token":"redacted", "expires_in" : 3600,"refresh_token":"redacted","scope":"all"}"#, lived[1],
            lived[2],
        ]
        #expect(exchanges.map { String(decoding: $0.answer, as: UTF8.self) } == kept)

        let file = try JSONEncoder().encode(recorder.recording)
        let player = ScriptedTransport(playing: try JSONDecoder().decode(Recording.self, from: file))
        #expect(try await Visit(secret: "other", token: "redacted").answers(of: player) == kept)
    }

    @Test("the queries of announced streams of events are redacted like tokens, and playback asks for the same streams")
    func streams() async throws {
        let answer = #"""
            {"flags":[{"key":"a","value":{"url":"https://a.example/?page=1"}}],"eventStreams":[{"type":"sse",
             "endpoint":{"requestUri":"/sse?ticket=canary-1&canary-2&n=","origin":"https://b.example"}},{"type":"sse",
             "url":"https:\/\/b.example\/sse?t=canary-3"}],"metadata":{"url":"/?page=2"}}
            """#
        let recorder = RecordingTransport(ScriptedTransport { _ in .json(answer) })
        var stream = HTTPRequest(method: .get, scheme: "https", authority: "b.example", path: "/sse?ticket=canary-1")
        stream.headerFields[.accept] = "text/event-stream"
        let question = HTTPRequest(method: .post, scheme: "https", authority: "b.example", path: "/flags?page=3")
        for request in [question, stream] { _ = try await recorder.send(request, body: [], limits: HTTPLimits()) }
        let exchanges = recorder.recording.exchanges
        let kept = String(decoding: exchanges[0].answer, as: UTF8.self)
        #expect(!kept.contains("canary"))
        #expect(kept.contains(#""/sse?ticket=redacted&redacted&n=redacted""#))
        #expect(kept.contains(#""https:\/\/b.example\/sse?t=redacted""#))
        for url in ["https://a.example/?page=1", "/?page=2"] { #expect(kept.contains(url)) }
        #expect(exchanges.map(\.path) == ["/flags?page=3", "/sse?ticket=redacted"])
        let player = ScriptedTransport(playing: recorder.recording)
        for ticket in ["redacted", "another"] {
            stream.path = "/sse?ticket=\(ticket)"
            #expect(try await player.send(stream, body: [], limits: HTTPLimits()).status == 200)
        }
    }

    @Test(
        "credentials in JSON are redacted in whatever form they come",
        arguments: [
            ("\u{FEFF}{\"access_token\":\"canary\"}", "\u{FEFF}{\"access_token\":\"redacted\"}"),
            (
                #"{"password":-12.5e3,"secretKey" : 7, "apiKey":null,"idToken":true}"#,
                #"{"password":"redacted","secretKey" : "redacted", "apiKey":null,"idToken":true}"#
            ),
            (
                #"{"apiKeys":["a"],"api_key":["canary", [1,{"n":"canary"}], "canary\"]"],"page":[2,"b"]}"#,
                #"{"apiKeys":["a"],"api_key":["redacted", ["redacted",{"n":"redacted"}], "redacted"],"page":[2,"b"]}"#
            ),
            (
                #"[{"authorization":{"value" : "canary","more":{},"of":[true]},"at":3},"password",4]"#,
                #"[{"authorization":{"value" : "redacted","more":{},"of":[true]},"at":3},"password",4]"#
            ),
            // What isn't JSON may stay as it is, but must do no harm.
            (#"{"password":"#, #"{"password":"#), (#"{"password":12"#, #"{"password":"redacted""#),
            (#"{"password":]]]"a"#, #"{"password":]]]"a"#), (#"{"password":{"a"#, #"{"password":{"redacted"#),
        ]
    )
    func formsOfSecrets(sent: String, kept: String) async throws {
        let recorder = RecordingTransport(ScriptedTransport([.json(sent)]))
        let request = HTTPRequest(method: .post, scheme: "https", authority: "example.com", path: "/")
        #expect(try await recorder.send(request, body: Array(sent.utf8), limits: HTTPLimits()).text == sent)
        let exchange = try #require(recorder.recording.exchanges.first)
        #expect(String(decoding: exchange.body, as: UTF8.self) == kept)
        #expect(String(decoding: exchange.answer, as: UTF8.self) == kept)
    }

    @Test("a recording from before credentials were redacted is played back by the same rules")
    func olderRecording() async throws {
        let body = Array("grant_type=refresh_token&client_id=app&client_secret=a&refresh_token=b".utf8)
        let file = """
            {"exchanges":[{"method":"POST","path":"/oauth/token?access_token=canary-4&region=eu","body":\(body),"status":200,
            "fields":[],"answer":\(Array("{}".utf8))}]}
            """
        let player = ScriptedTransport(playing: try JSONDecoder().decode(Recording.self, from: Data(file.utf8)))
        await #expect(throws: ExperimentationError.self) {
            // Only the first request was recorded.
            try await Visit(secret: "x", token: "y").answers(of: player)
        }
        #expect(player.requests.count == 2)
    }
}
