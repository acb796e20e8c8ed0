import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Tells clients of one tenant that the flags may be others now.
///
/// Nothing but the fact goes over a stream; a client that hears it asks again. What is passed to a stream is how many changes
/// there have been, so that a client that is slow misses none: the last number says all that those before it said.
final class ChangeStreams: Sendable {
    private struct State {
        var streams: [Int: AsyncStream<Int>.Continuation] = [:]
        var next = 0
        var changes = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// How many clients listen.
    var count: Int { state.withLock { $0.streams.count } }

    /// How many changes there have been.
    var changes: Int { state.withLock { $0.changes } }

    /// Tells everybody that there is a change.
    func announceChange() {
        state.withLock { $0.changes += 1 }
        beat()
    }

    /// Sends everybody a sign of life, so that nobody between takes a stream for dead.
    func beat() {
        let (streams, changes) = state.withLock { (Array($0.streams.values), $0.changes) }
        for stream in streams { stream.yield(changes) }
    }

    /// Ends every stream, and lets none begin any more.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    /// How many changes there have been, now and with each sign of life; `nil` if as many listen as may.
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

    /// The answer that is a stream, or that there are too many.
    ///
    /// - Parameters:
    ///   - request: The request; the stream ends when its connection does.
    ///   - most: How many may listen at once.
    func answer(_ request: Request, atMost most: Int) -> Answer {
        guard let counts = counts(atMost: most) else {
            // Long enough for a client to ask without a stream meanwhile.
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
                // Told to a proxy that would wait for the end.
                HTTPField.Name("X-Accel-Buffering")!: "no",
            ],
            body: body
        )
    }

    /// What a client is told, as server-sent events have it.
    ///
    /// - Parameters:
    ///   - count: How many changes there have been.
    ///   - last: How many there had been when it was told before; `nil` at the beginning, when there is nothing to ask again.
    static func text(_ count: Int, after last: Int?) -> String {
        guard let last else { return ": says when to ask again\n\n" }
        guard count > last else { return ":\n\n" }
        return "id: \(count)\nevent: message\ndata: {\"type\":\"refetchEvaluation\"}\n\n"
    }
}

/// A writer that a closure may capture; only one task uses it.
private final class WriterBox: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ text: String) async throws { try await writer.write(ByteBuffer(string: text)) }
}
