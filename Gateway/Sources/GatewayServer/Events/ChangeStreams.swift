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
    private struct State {
        var streams: [Int: AsyncStream<Int>.Continuation] = [:]
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
        for stream in streams { stream.yield(changes) }
    }

    /// Ends every stream and rejects new ones.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    /// The number of changes, now and with each heartbeat or change; `nil` if the maximum number of clients are
    /// listening.
    func counts(atMost most: Int = .max) -> AsyncStream<Int>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        return state.withLock { state in
            guard !state.isFinished else {
                continuation.finish()
                return stream
            }
            guard state.streams.count < most else { return nil }
            let id = state.next
            state.next += 1
            state.streams[id] = continuation
            continuation.yield(state.changes)
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.streams.removeValue(forKey: id) }
            }
            return stream
        }
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
        return Answer(
            status: .ok,
            fields: [
                .contentType: "text/event-stream", .cacheControl: "no-store",
                // Stops proxies from buffering the answer until its end.
                HTTPField.Name("X-Accel-Buffering")!: "no",
            ],
            body: body
        )
    }

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
