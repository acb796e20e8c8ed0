import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Announces possible flag changes to the clients of one tenant.
///
/// A stream only carries the fact; clients then evaluate again. It passes on the number of changes so far, so that a
/// slow client misses none: the latest number covers all before it.
final class ChangeStreams: Sendable {
    /// A client that listens; its closures are called on any thread and must not wait.
    struct Listener: Sendable {
        /// Says the number of changes so far, with each heartbeat or change.
        let tell: @Sendable (Int) -> Void
        /// Says that there are no more.
        let end: @Sendable () -> Void
    }

    /// A listener's place.
    struct Place: Sendable {
        let id: Int
        /// The number of changes before.
        let count: Int
    }

    private struct State {
        var streams: [Int: Listener] = [:]
        var next = 0
        var changes = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// The number of listening clients.
    var count: Int { state.withLock { $0.streams.count } }

    /// The number of changes so far.
    var changes: Int { state.withLock { $0.changes } }

    /// Announces a change to all clients.
    func announceChange() {
        state.withLock { $0.changes += 1 }
        beat()
    }

    /// Sends all clients a heartbeat, so that no proxy closes an idle stream.
    func beat() {
        let (streams, changes) = state.withLock { (Array($0.streams.values), $0.changes) }
        for stream in streams { stream.tell(changes) }
    }

    /// Ends every stream and rejects new ones.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.end() }
    }

    /// Lets a client listen.
    ///
    /// - Returns: Its place, to be given to ``leave(_:)``; `nil` if the maximum number are listening, and after the end.
    func listen(_ listener: Listener, atMost most: Int = .max) -> Place? {
        state.withLock { state in
            guard !state.isFinished, state.streams.count < most else { return nil }
            let id = state.next
            state.next += 1
            state.streams[id] = listener
            return Place(id: id, count: state.changes)
        }
    }

    /// Ends a client's listening, without a word to it.
    func leave(_ id: Int) { state.withLock { _ = $0.streams.removeValue(forKey: id) } }

    /// The number of changes, now and with each heartbeat or change; `nil` if the maximum number of clients are
    /// listening.
    func counts(atMost most: Int = .max) -> AsyncStream<Int>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        let listener = Listener(tell: { continuation.yield($0) }, end: { continuation.finish() })
        guard let place = listen(listener, atMost: most) else {
            guard state.withLock({ $0.isFinished }) else { return nil }
            continuation.finish()
            return stream
        }
        continuation.yield(place.count)
        continuation.onTermination = { [weak self] _ in self?.leave(place.id) }
        return stream
    }

    /// The answer with the event stream, or a rejection if there are too many.
    ///
    /// - Parameters:
    ///   - request: The request; the stream ends with its connection.
    ///   - most: The maximum number of streams.
    /// - Returns: The answer.
    func answer(_ request: Request, atMost most: Int) -> Answer {
        guard let counts = counts(atMost: most) else {
            // Long enough for clients to poll without a stream meanwhile.
            return .empty(.tooManyRequests, [.retryAfter: "30"])
        }
        let body = ResponseBody { writer in
            let out = WriterBox(writer)
            try? await request.body.consumeWithCancellationOnInboundClose { _ in
                var last: Int?
                for await count in counts {
                    try await out.write(Self.text(count, after: last))
                    last = count
                }
            }
            try await writer.finish(nil)
        }
        return Answer(status: .ok, fields: Self.fields, body: body)
    }

    /// The fields of the answer.
    static let fields: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        // Stops proxies from buffering the answer until its end.
        HTTPField.Name.literal("X-Accel-Buffering"): "no",
    ]

    /// A server-sent event for a client.
    ///
    /// - Parameters:
    ///   - count: The number of changes so far.
    ///   - last: The number that the client was told last; `nil` at the beginning, when it needn't evaluate again.
    /// - Returns: The event.
    static func text(_ count: Int, after last: Int?) -> String {
        guard let last else { return ": says when to ask again\n\n" }
        guard count > last else { return ":\n\n" }
        return "id: \(count)\nevent: message\ndata: {\"type\":\"refetchEvaluation\"}\n\n"
    }
}

/// A box that lets a closure capture the writer; only one task uses it.
private final class WriterBox: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ text: String) async throws { try await writer.write(ByteBuffer(string: text)) }
}
