import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization
import Testing
import Waiting

@testable import OFREPAdapter

/// Questions that are repeated after one that a change had caused has failed.
@Suite("OFREP: failed questions after changes")
struct RepeatedQuestionTests {
    private let time = ManualTime()
    private let log = RecordingLog()

    /// Returns the announcement of a stream.
    private static func stream(_ name: String) -> String {
        #","eventStreams":[{"type":"sse","url":"https://events.example.com/\#(name)"}]"#
    }

    /// Returns the queries of the questions about a user.
    private func queries(_ transport: StreamingTransport, of userID: String = "u-1") -> [String?] {
        transport.questions.filter { $0.text.contains(userID) }.map(\.query)
    }

    private var failures: Int { log.entries.count { $0.event == "refresh.failed" } }

    /// Returns a client with sessions that were refreshed twice, before and after their stream was open.
    private func begin(
        _ transport: StreamingTransport,
        users: [String] = ["u-1"]
    ) async throws -> (client: ExperimentationClient, sessions: [UserSession]) {
        let client = try await Samples.client(transport, changes: .events, time: time, log: log)
        let sessions = users.map { client.session(for: User(id: $0)) }
        for session in sessions { try await session.refresh() }
        try await eventually("the stream") { transport.streams == ["/a"] }
        transport.open()
        await time.pass(.seconds(3))
        #expect(transport.questions.count == 2 * users.count)
        return (client, sessions)
    }

    /// Advances time in small steps until a number of questions have been asked.
    private func wait(for count: Int, _ transport: StreamingTransport) async throws {
        try await eventually("question \(count)") {
            time.advance(by: .milliseconds(100))
            return transport.questions.count >= count
        }
    }

    /// Breaks the stream and opens it again with a status.
    private func reopen(_ transport: StreamingTransport, status: Int = 200) async throws {
        transport.end()
        try await eventually("the end of the stream") { transport.streams.isEmpty }
        await time.pass(.seconds(1))
        try await eventually("the stream again") { transport.streams == ["/a"] }
        transport.open(status: status)
    }

    @Test("a question that an event has caused is repeated until it is answered, and names the event each time")
    func event() async throws {
        let transport = StreamingTransport { number, _ in
            (3...4).contains(number)
                ? .status(503) : Samples.answer(number < 5 ? "green" : "blue", more: Self.stream("a"))
        }
        let (client, sessions) = try await begin(transport)
        transport.tellChange(etag: "v2")
        try await wait(for: 3, transport)
        await time.pass(.seconds(30))
        let event = "flagConfigEtag=v2"
        #expect(queries(transport) == [nil, nil, event, event, event])
        #expect(sessions[0].string("color", default: "red") == "blue")
        #expect(sessions[0].status == .ready)
        await client.shutdown()
    }

    @Test("a question that an event has caused is repeated when the server's wait is over, and not before")
    func wait() async throws {
        let transport = StreamingTransport { number, _ in
            number == 3
                ? .status(429, headers: [.retryAfter: "3600"])
                : Samples.answer(number < 4 ? "green" : "blue", more: Self.stream("a"))
        }
        let (client, sessions) = try await begin(transport)
        transport.tellChange(etag: "v2")
        try await wait(for: 3, transport)
        await time.pass(.seconds(3_590))
        #expect(transport.questions.count == 3)
        #expect(failures == 1)
        await time.pass(.seconds(20))
        #expect(transport.questions.count == 4)
        #expect(sessions[0].string("color", default: "red") == "blue")
        await client.shutdown()
    }

    @Test("a question for a new address is repeated when the server's wait is over, without a validator")
    func address() async throws {
        let transport = StreamingTransport { number, _ in
            number == 3
                ? .status(429, headers: [.retryAfter: "3600"])
                : Samples.answer("green", tag: "\"1\"", more: Self.stream(number < 4 ? "a" : "b"))
        }
        let (client, sessions) = try await begin(transport)
        try await reopen(transport, status: 401)
        try await wait(for: 3, transport)
        await time.pass(.seconds(3_590))
        #expect(transport.questions.count == 3)
        #expect(failures == 1)
        await time.pass(.seconds(20))
        #expect(transport.streams == ["/b"])
        let tags = transport.questions.map { $0.request.headerFields[.ifNoneMatch] }
        #expect(tags == [nil, "\"1\"", nil, nil])
        #expect(sessions[0].status == .ready)
        await client.shutdown()
    }

    @Test(
        "a question isn't repeated if the server refuses it, or if only the application has caused it",
        arguments: [(400, "INVALID_CONTEXT", true), (400, "STRANGE", true), (401, "", true), (503, "", false)]
    )
    func unrepeated(status: Int, code: String, hasEvent: Bool) async throws {
        let transport = StreamingTransport { number, _ in
            let refusal = ScriptedTransport.Answer.json(#"{"errorCode":"\#(code)"}"#, status: status)
            return number == 3 ? refusal : Samples.answer("green", more: Self.stream("a"))
        }
        let (client, sessions) = try await begin(transport)
        if hasEvent { transport.tellChange(etag: "v2") } else { _ = await failure(of: sessions[0]) }
        try await wait(for: 3, transport)
        await time.pass(.seconds(1_800))
        #expect(transport.questions.count == 3)
        // Without a session no question would be asked, and an optimized build releases what is no longer used.
        withExtendedLifetime(sessions) {}
        await client.shutdown()
    }

    @Test("after a gap, the last event is named in the question of the user who had no answer to it, and no other")
    func twoUsers() async throws {
        let counts = Mutex(["u-1": 0, "u-2": 0])
        let transport = StreamingTransport { _, exchange in
            let userID = exchange.text.contains("u-1") ? "u-1" : "u-2"
            let count = counts.withLock { counts in
                counts[userID, default: 0] += 1
                return counts[userID]
            }
            return userID == "u-2" && count == 3 ? .status(503) : Samples.answer("green", more: Self.stream("a"))
        }
        let (client, sessions) = try await begin(transport, users: ["u-1", "u-2"])
        transport.tellChange(etag: "v2")
        try await wait(for: 6, transport)
        try await reopen(transport)
        await time.pass(.seconds(5))
        let event = "flagConfigEtag=v2"
        for (userID, expected) in [("u-1", [nil, nil, event, nil]), ("u-2", [nil, nil, event, event])] {
            let queries = queries(transport, of: userID)
            #expect(Array(queries.prefix(4)) == expected)
            #expect(queries.dropFirst(4).allSatisfy { $0 == nil })
        }
        #expect(sessions.allSatisfy { $0.status == .ready })
        await client.shutdown()
    }

    /// Expects the first question after an event to be repeated after it has failed, although others were answered.
    private func expectRepetition(of first: String, among users: [User]) async throws {
        let failed = Mutex(0)
        let transport = StreamingTransport { number, exchange in
            let fails =
                number > users.count && exchange.text.contains(first)
                && failed.withLock { failed in
                    failed += 1
                    // Its answer after the stream has opened comes first.
                    return failed == 2
                }
            return fails ? .status(503) : Samples.answer("green", more: Self.stream("a"))
        }
        let client = try await Samples.client(transport, changes: .events, time: time, log: log)
        let sessions = users.map { client.session(for: $0) }
        for session in sessions { try await session.refresh() }
        try await eventually("the stream") { transport.streams == ["/a"] }
        transport.open()
        await time.pass(.seconds(3))
        transport.tellChange(etag: "v2")
        try await wait(for: 3 * users.count, transport)
        await time.pass(.seconds(5))
        #expect(failures == 1)
        #expect(sessions.allSatisfy { $0.status == .ready })
        await client.shutdown()
    }

    @Test("a question is repeated for either session of a user with two plans", arguments: ["red", "blue"])
    func twoSessions(failing: String) async throws {
        let users = ["red", "blue"].map { User(id: "u-1", attributes: ["plan": .string($0)]) }
        try await expectRepetition(of: failing, among: users)
    }

    @Test("a question is repeated for any of many users", arguments: ["u-1", "u-99"])
    func manyUsers(failing: String) async throws {
        try await expectRepetition(of: "\"\(failing)\"", among: (1...99).map { User(id: "u-\($0)") })
    }
}
