import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization
import Testing
import Waiting

@testable import OFREPAdapter

/// What makes the adapter ask without a refresh by the application, and what it sends along.
@Suite("OFREP: questions after changes, gaps and absences")
struct FreshQuestionTests {
    private let time = ManualTime()

    /// Returns the announcement of a stream.
    private static func stream(_ name: String) -> String {
        #","eventStreams":[{"type":"sse","url":"https://events.example.com/\#(name)","inactivityDelaySec":60}]"#
    }

    private func tags(_ transport: StreamingTransport) -> [String?] {
        transport.questions.map { $0.request.headerFields[.ifNoneMatch] }
    }

    /// Returns a client with a session that was refreshed and whose stream, if any, is open.
    private func begin(
        _ transport: StreamingTransport,
        changes: OFREPConfiguration.Changes = .events,
        hasStream: Bool = true
    ) async throws -> (client: ExperimentationClient, session: UserSession) {
        let client = try await Samples.client(transport, changes: changes, time: time)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        if hasStream {
            try await eventually("the stream") { transport.streams == ["/a"] }
            transport.open()
            // Changes before the opening may have been missed.
            try await eventually("the question after the opening") {
                time.advance(by: .milliseconds(100))
                return transport.questions.count == 2
            }
            await time.settle()
        }
        return (client, session)
    }

    @Test(
        "back in the foreground, flags are requested unless a stream is open or changes aren't followed",
        arguments: [
            (OFREPConfiguration.Changes.events, false, [nil, "\"1\""]), (.polling, false, [nil, "\"1\""]),
            (.none, false, [nil]), (.events, true, [nil, "\"1\""]),
        ] as [(OFREPConfiguration.Changes, Bool, [String?])]
    )
    func foreground(changes: OFREPConfiguration.Changes, hasStream: Bool, expected: [String?]) async throws {
        let transport = StreamingTransport { number, _ in
            number == 1 ? Samples.answer("green", tag: "\"1\"", more: hasStream ? Self.stream("a") : "") : .status(304)
        }
        let (client, session) = try await begin(transport, changes: changes, hasStream: hasStream)
        // It wasn't in the background yet.
        await client.setApplicationState(.idle)
        await client.setApplicationState(.background)
        await client.setApplicationState(.foreground)
        // Questions are at least a second apart.
        await time.pass(.seconds(2))
        #expect(tags(transport) == expected)
        #expect(session.string("color", default: "red") == "green")
        await client.shutdown()
    }

    @Test("after streams were closed for the background, the question names no validator")
    func unconditional() async throws {
        let transport = StreamingTransport { number, _ in
            number == 2 ? .status(304) : Samples.answer("green", tag: "\"\(number)\"", more: Self.stream("a"))
        }
        let (client, session) = try await begin(transport)
        await client.setApplicationState(.background)
        try await eventually("the stream is closed") {
            time.advance(by: .seconds(10))
            return transport.streams.isEmpty
        }
        await client.setApplicationState(.foreground)
        try await eventually("the question on return") { transport.questions.count == 3 }
        try await eventually("the stream again") { transport.streams == ["/a"] }
        transport.open()
        // The rest of the second between two changes.
        try await eventually("the question after the opening") {
            time.advance(by: .milliseconds(100))
            return transport.questions.count == 4
        }
        #expect(tags(transport) == [nil, "\"1\"", nil, "\"3\""])
        #expect(transport.questions.map(\.query) == [nil, nil, nil, nil])
        #expect(session.status == .ready)
        await client.shutdown()
    }

    @Test("an event's validator is sent with questions about an answer from before the event, and with no other")
    func eventValidator() async throws {
        let transport = StreamingTransport { _, _ in Samples.answer("green", tag: "\"1\"", more: Self.stream("a")) }
        let (client, session) = try await begin(transport)
        transport.tellChange(etag: "v2")
        try await eventually("the question for the event") {
            time.advance(by: .milliseconds(100))
            return transport.questions.count == 3
        }
        await time.settle()
        try session.update(["plan": "pro"])
        try await session.refresh()
        try await client.session(for: User(id: "u-2")).refresh()
        #expect(transport.questions.map(\.query) == [nil, nil, "flagConfigEtag=v2", nil, nil])
        await client.shutdown()
    }

    @Test("an expired address of a stream is replaced by the next answer's, and the session stays READY")
    func expiredAddress() async throws {
        // The flags never change, so a question with a validator brings no address.
        let transport = StreamingTransport { number, exchange in
            exchange.request.headerFields[.ifNoneMatch] == "\"1\""
                ? .status(304) : Samples.answer("green", tag: "\"1\"", more: Self.stream(number <= 2 ? "a" : "b"))
        }
        let (client, session) = try await begin(transport)
        transport.end()
        try await eventually("the end of the stream") { transport.streams.isEmpty }
        try await eventually("the stream is tried again") {
            time.advance(by: .milliseconds(100))
            return transport.streams == ["/a"]
        }
        transport.open(status: 401)
        try await eventually("the new address") {
            time.advance(by: .milliseconds(100))
            return transport.streams == ["/b"]
        }
        #expect(tags(transport) == [nil, "\"1\"", nil])
        #expect(session.status == .ready)
        transport.open()
        await time.pass(.seconds(60))
        #expect(session.status == .ready)
        await client.shutdown()
    }

    @Test("a question for a new address that fails is asked again, without a refresh by the application")
    func unansweredAddress() async throws {
        let transport = StreamingTransport { number, _ in
            number == 3 ? .status(503) : Samples.answer("green", more: Self.stream(number <= 2 ? "a" : "b"))
        }
        let (client, session) = try await begin(transport)
        transport.end()
        try await eventually("the end of the stream") { transport.streams.isEmpty }
        try await eventually("the stream is tried again") {
            time.advance(by: .milliseconds(100))
            return transport.streams == ["/a"]
        }
        transport.open(status: 401)
        try await eventually("the question that fails") {
            time.advance(by: .milliseconds(100))
            return transport.questions.count == 3
        }
        try await eventually("the new address") {
            time.advance(by: .milliseconds(100))
            return transport.streams == ["/b"]
        }
        #expect(transport.questions.count == 4)
        try await eventually("the session is ready") { session.status == .ready }
        await client.shutdown()
    }

    @Test("an open stream is closed only when its replacement is open")
    func replacedStream() async throws {
        let transport = StreamingTransport { number, _ in
            Samples.answer("green", more: Self.stream(number <= 2 ? "a" : "b"))
        }
        let (client, session) = try await begin(transport)
        try await session.refresh()
        try await eventually("the new stream") { transport.streams == ["/a", "/b"] }
        transport.open()
        try await eventually("the former stream is closed") { transport.streams == ["/b"] }
        await time.pass(.seconds(5))
        #expect(transport.questions.count == 3)
        await client.shutdown()
    }

    @Test("an answer is used even if the question after a later change fails, and that question is asked again")
    func followUp() async throws {
        let transport = LateTransport()
        let client = try await Samples.client(transport, changes: .events, time: time)
        let session = client.session(for: User(id: "u-1"))
        async let first: Void = session.refresh()
        try await eventually("the first question") { transport.count == 1 }
        transport.answer(0, Samples.answer("red", more: Self.stream("a")))
        try await first
        try await eventually("the stream") { transport.count == 2 }
        async let second = failure(of: session)
        try await eventually("the second question") { transport.count == 3 }
        let event = "data: {\"type\":\"refetchEvaluation\"}\n\n"
        transport.answer(1, .body(event, type: "text/event-stream"))
        await time.settle()
        time.advance(by: .milliseconds(50))
        await time.settle()
        transport.answer(2, "green")
        try await eventually("the question after the change") { transport.count == 4 }
        transport.answer(3, .status(503))
        #expect(await second == nil)
        #expect(session.string("color", default: "default") == "green")
        try await eventually("the change is asked for again") {
            time.advance(by: .milliseconds(100))
            return transport.count == 5
        }
        await client.shutdown()
    }
}
