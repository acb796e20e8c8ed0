import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization

/// A transport that computes answers to questions, and whose event streams a test opens, fills and ends.
final class StreamingTransport: HTTPTransport {
    private struct State {
        var last = 0
        var streams: [Int: (path: String, parts: AsyncStream<HTTPPart>.Continuation)] = [:]
    }

    private let scripted: ScriptedTransport
    private let state = Mutex(State())

    /// Creates a transport that computes each answer from the number of questions so far and the question.
    init(answer: @escaping @Sendable (_ number: Int, ScriptedTransport.Exchange) -> ScriptedTransport.Answer) {
        let count = Atomic(0)
        scripted = ScriptedTransport { answer(count.wrappingAdd(1, ordering: .relaxed).newValue, $0) }
    }

    /// The questions so far, in order.
    var questions: [ScriptedTransport.Exchange] { scripted.requests }

    /// The paths of the streams that are connected.
    var streams: [String] { state.withLock { $0.streams.values.map(\.path).sorted() } }

    /// Sends the head of every stream.
    func open(status: Int = 200) {
        let fields: HTTPFields = [.contentType: "text/event-stream"]
        yield(.head(HTTPResponse(status: .init(code: status), headerFields: fields)))
    }

    /// Sends an event that makes clients ask again.
    func tellChange(etag: String) {
        yield(.body(Array("data: {\"type\":\"refetchEvaluation\",\"etag\":\"\(etag)\"}\n\n".utf8)))
    }

    /// Ends every stream.
    func end() { for stream in state.withLock({ $0.streams.values }) { stream.parts.finish() } }

    private func yield(_ part: HTTPPart) {
        for stream in state.withLock({ $0.streams.values }) { stream.parts.yield(part) }
    }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        try await scripted.send(request, body: body, limits: limits)
    }

    func stream(
        _ request: HTTPRequest,
        limits: HTTPLimits,
        receive: @escaping @Sendable (HTTPPart) -> Void
    ) async throws(ExperimentationError) -> HTTPResponse {
        let (parts, continuation) = AsyncStream.makeStream(of: HTTPPart.self)
        let number = state.withLock { state in
            state.last += 1
            state.streams[state.last] = (request.path ?? "", continuation)
            return state.last
        }
        defer { _ = state.withLock { $0.streams.removeValue(forKey: number) } }
        for await part in parts { receive(part) }
        throw ExperimentationError(.transport, "the stream has ended")
    }
}
