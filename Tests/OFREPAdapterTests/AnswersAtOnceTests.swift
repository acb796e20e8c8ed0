import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization
import Testing
import Waiting

@testable import OFREPAdapter

/// A transport that keeps its streams open, and sends a test's data on them.
private final class KeptStreams: HTTPTransport {
    private struct Stream {
        let path: String
        let receive: @Sendable (HTTPPart) -> Void
    }

    private let state = Mutex<[Stream]>([])

    /// The requested paths.
    var asked: Set<String> { Set(state.withLock { $0.map(\.path) }) }

    /// Opens a stream, and announces a change on it.
    func tellChange(on path: String, etag: String) {
        let fields: HTTPFields = [.contentType: "text/event-stream"]
        let event = "data: {\"type\":\"refetchEvaluation\",\"etag\":\"\(etag)\"}\n\n"
        for stream in state.withLock({ $0 }) where stream.path == path {
            stream.receive(.head(HTTPResponse(status: 200, headerFields: fields)))
            stream.receive(.body(Array(event.utf8)))
        }
    }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        throw ExperimentationError(.transport, "only streams are there")
    }

    func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse {
        state.withLock { $0.append(Stream(path: request.path ?? "", receive: receive)) }
        // Until the listener ends it.
        let (parts, continuation) = AsyncStream.makeStream(of: HTTPPart.self)
        for await part in parts { receive(part) }
        continuation.finish()
        throw ExperimentationError(.cancelled, "the stream was given up")
    }
}

@Suite("OFREP: answers that come at once")
struct AnswersAtOnceTests {
    private let transport = KeptStreams()
    private let time = ManualTime()

    private func announcement(_ path: String) throws -> OFREPStream.Announcement {
        try #require(OFREPStream.Announcement(["type": "sse", "endpoint": ["requestUri": .string(path)]]))
    }

    private func listener(jitter: @escaping @Sendable () -> Double = { 0 }) -> OFREPListener {
        OFREPListener(
            OFREPRequests(OFREPConfiguration(baseURL: Samples.base)),
            opensStreams: true,
            transport: transport,
            environment: ClientEnvironment(time: time, jitter: jitter)
        )
    }

    /// Waits until the client receives a change that is announced on a stream.
    private func hear(_ path: String, _ listener: OFREPListener) async throws {
        try await eventually("the stream is asked for") { transport.asked.contains(path) }
        transport.tellChange(on: path, etag: path)
        try await eventually("the change is heard") {
            time.advance(by: .milliseconds(100))
            return listener.lastChange?.event(since: 0)?.etag == path
        }
    }

    @Test("two users whose answers arrive at the same moment are both listened for")
    func both() async throws {
        let meanwhile = Mutex<Act?>(nil)
        // The random number is drawn while an answer is being processed, which is when the other one arrives.
        let listener = self.listener {
            let act = meanwhile.withLock { act in
                defer { act = nil }
                return act
            }
            act?.run()
            return 0
        }
        let notices = listener.notices()
        let (first, second) = (try announcement("/first"), try announcement("/second"))
        meanwhile.withLock { act in act = Act { listener.listen(to: [second], for: "bob") } }
        listener.listen(to: [first], for: "ada")
        try await hear("/first", listener)
        try await hear("/second", listener)
        listener.stop()
        _ = notices
    }

    @Test("two users whose ids are only equivalent in Unicode are both listened for")
    func spellings() async throws {
        let listener = self.listener()
        let notices = listener.notices()
        listener.listen(to: [try announcement("/first")], for: "\u{E9}")
        listener.listen(to: [try announcement("/second")], for: "e\u{301}")
        try await hear("/first", listener)
        try await hear("/second", listener)
        listener.stop()
        _ = notices
    }

    /// What is done once; a struct, because a bare closure isn't held by a lock.
    private struct Act {
        let run: @Sendable () -> Void
    }
}
