import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing
import Waiting

@testable import OFREPAdapter

@Suite("OFREP: requests and cached answers")
struct QuestionTests {
    private func validators(_ transport: ScriptedTransport) -> [String?] {
        transport.requests.map { $0.request.headerFields[.ifNoneMatch] }
    }

    @Test("a question has the user's id and attributes, and is sent to the address below the base")
    func question() async throws {
        let transport = ScriptedTransport([Samples.answer("green")])
        let client = try await Samples.client(transport) { $0.headers = ["X-Env": "test"] }
        let session = client.session(for: User(id: "u-1", attributes: ["plan": "pro", "targetingKey": "x", "n": 1.5]))
        try await session.refresh()
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/app/ofrep/v1/evaluate/flags")
        #expect(request.query == nil)
        #expect(request.text == #"{"context":{"n":1.5,"plan":"pro","targetingKey":"u-1"}}"#)
        #expect(request.request.headerFields[.contentType] == "application/json")
        #expect(request.request.headerFields[.authorization] == "Bearer token-canary")
        let details = session.details("color", default: "red")
        #expect((details.value, details.variant, details.reason) == ("green", "v", .static))
        await client.shutdown()
    }

    @Test("a confirmed answer is the last one; a new one replaces it completely")
    func confirms() async throws {
        let transport = ScriptedTransport([
            Samples.answer("green", tag: "\"1\""), .status(304), Samples.answer("blue", tag: "\"2\""), .status(304),
        ])
        let client = try await Samples.client(transport)
        let session = client.session(for: User(id: "u-1"))
        var values: [String] = []
        for _ in 0..<4 {
            try await session.refresh()
            values.append(session.string("color", default: "red"))
        }
        #expect(values == ["green", "green", "blue", "blue"])
        #expect(validators(transport) == [nil, "\"1\"", "\"1\"", "\"2\""])
        await client.shutdown()
    }

    @Test("a validator isn't sent after any attribute changed, and returns when none has")
    func attributes() async throws {
        let transport = ScriptedTransport { exchange in
            Samples.answer(exchange.text.contains("pro") ? "gold" : "green", tag: "\"same\"")
        }
        let client = try await Samples.client(transport)
        let session = client.session(for: User(id: "u-1", attributes: ["plan": "free"]))
        try await session.refresh()
        try session.update(["plan": "pro"])
        try await session.refresh()
        #expect(session.string("color", default: "red") == "gold")
        try await session.refresh()
        try session.update(["plan": .null])
        try await session.refresh()
        session.identify(Identity(id: "u-2"))
        try await session.refresh()
        #expect(validators(transport) == [nil, nil, "\"same\"", nil, nil])
        await client.shutdown()
    }

    @Test("a late answer for former attributes is discarded")
    func late() async throws {
        let time = ManualTime()
        let transport = LateTransport()
        let client = try await Samples.client(transport, time: time)
        let session = client.session(for: User(id: "u-1", attributes: ["plan": "free"]))
        async let first: Void = { try? await session.refresh() }()
        try await eventually("the first question") { transport.count == 1 }
        try session.update(["plan": "pro"])
        async let second: Void = { try? await session.refresh() }()
        try await eventually("the second question") { transport.count == 2 }
        transport.answer(1, "gold")
        await second
        #expect(session.string("color", default: "red") == "gold")
        transport.answer(0, "green")
        // The first call's answer is outdated, so it asks again with the current attributes.
        try await eventually("the third question") { transport.count == 3 }
        transport.answer(2, "gold")
        await first
        #expect(session.string("color", default: "red") == "gold")
        await client.shutdown()
    }

    @Test("a session recorded with a server replays without it")
    func recorded() async throws {
        let recorder = RecordingTransport(ScriptedTransport([Samples.answer("green"), .status(503)]))
        func visit(_ transport: any HTTPTransport) async throws -> [String] {
            let configuration = OFREPConfiguration(
                baseURL: try Endpoint("https://flags.example.com"),
                token: "token-canary",
                changes: .none,
                retry: .none
            )
            let client = try await ExperimentationClient(
                provider: OFREPProvider(configuration: configuration, transport: transport),
                environment: ClientEnvironment(jitter: { 0 })
            )
            let session = client.session(for: User(id: "u-1"))
            var seen: [String] = []
            for _ in 0..<2 {
                do throws(ExperimentationError) { try await session.refresh() } catch {
                    seen.append(error.code.rawValue)
                }
                let details = session.details("color", default: "red")
                seen.append("\(details.value) \(details.reason)")
            }
            await client.shutdown()
            return seen
        }
        let lived = try await visit(recorder)
        #expect(lived == ["green STATIC", "VENDOR_FAULT", "green STALE"])
        #expect(try await visit(ScriptedTransport(playing: recorder.recording)) == lived)
    }

    @Test("with polling the server is asked again, and sessions say which flags changed")
    func polls() async throws {
        let time = ManualTime()
        let transport = ScriptedTransport([
            Samples.answer("green", tag: "\"1\""), .status(304), Samples.answer("blue", tag: "\"2\""),
        ])
        let client = try await Samples.client(transport, changes: .polling, time: time) {
            $0.pollingInterval = .seconds(30)
        }
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        var changes = session.changes.makeAsyncIterator()
        for _ in 1...2 {
            // Nothing but the wait for the next question is that long: a question under way would run into its time limit.
            try await eventually("the wait for the next question") { time.untilNextWake == .seconds(27) }
            time.advance(by: .seconds(27))
        }
        #expect(await changes.next() == DecisionChange(flags: ["color"], status: .ready))
        #expect(session.string("color", default: "red") == "blue")
        #expect(validators(transport) == [nil, "\"1\"", "\"1\""])
        await client.shutdown()
    }

    @Test("cached answers are limited in bytes, the one used last stays, and a user can be forgotten")
    func bounded() {
        var answers = OFREPAnswers(limit: 1_000)
        func answer(_ id: Int) -> OFREPAnswers.Answer {
            OFREPAnswers.Answer(question: [UInt8(id)], decisions: .none, change: 0, weight: 100)
        }
        for id in 0..<10 { answers.keep(answer(id), of: "\(id)") }
        #expect(answers.answer(to: [0], of: "0") != nil)
        answers.keep(answer(10), of: "10")
        let kept = (0...10).filter { answers.answer(to: [UInt8($0)], of: "\($0)") != nil }
        #expect(kept == [0, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        #expect(answers.answer(to: [9], of: "10") == nil)
        answers.forget("10")
        #expect(answers.answer(to: [10], of: "10") == nil)
        var huge = answer(11)
        huge.weight = 2_000
        answers.keep(huge, of: "11")
        #expect(answers.answer(to: [11], of: "11") == nil)
        #expect(answers.answer(to: [0], of: "0") != nil)
    }

    @Test("the token, the user's data and the addresses of streams never reach the log")
    func discreet() async throws {
        let log = RecordingLog()
        let streams = #","eventStreams":[{"type":"sse","url":"http://x.example/?key=stream-canary"}]"#
        let transport = ScriptedTransport([
            Samples.answer("green", more: streams), .json(#"{"errorDetails":"u-canary"}"#, status: 400), .status(403),
        ])
        let client = try await Samples.client(transport, changes: .events, log: log)
        let session = client.session(for: User(id: "u-canary", attributes: ["mail": "mail-canary"]))
        try await session.refresh()
        var text = ""
        for _ in 0..<2 { text += await failure(of: session)?.description ?? "" }
        text += log.entries.map { "\($0)" }.joined()
        #expect(text.contains("1 of the server"))
        #expect(!text.contains("canary"))
        await client.shutdown()
    }
}
