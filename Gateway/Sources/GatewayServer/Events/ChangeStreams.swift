import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Tells clients of one tenant that the flags may be others now.
///
/// Nothing but the fact goes over a stream; a client that hears it asks again. A client that is slow hears the last of
/// several changes, which is all it needs.
final class ChangeStreams: Sendable {
    /// What goes over a stream.
    enum Message: Sendable, Equatable {
        /// The flags may be others now.
        case changed(Int)
        /// Nothing, so that nobody between takes the stream for dead.
        case beat
    }

    private struct State {
        var streams: [Int: AsyncStream<Message>.Continuation] = [:]
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
        let (streams, number) = state.withLock { state in
            state.changes += 1
            return (Array(state.streams.values), state.changes)
        }
        for stream in streams { stream.yield(.changed(number)) }
    }

    /// Sends a sign of life to everybody.
    func beat() { for stream in state.withLock({ Array($0.streams.values) }) { stream.yield(.beat) } }

    /// Ends every stream, and lets none begin any more.
    func finish() {
        let streams = state.withLock { state in
            state.isFinished = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    /// The messages from now on.
    func messages() -> AsyncStream<Message> {
        let (stream, continuation) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            guard !state.isFinished else { return continuation.finish() }
            let id = state.next
            state.next += 1
            state.streams[id] = continuation
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.streams.removeValue(forKey: id) }
            }
        }
        return stream
    }

    /// The answer that is a stream.
    ///
    /// - Parameter request: The request; the stream ends when its connection does.
    func answer(_ request: Request) -> Answer {
        let body = ResponseBody { [self] writer in
            let out = WriterBox(writer)
            try? await request.body.consumeWithCancellationOnInboundClose { _ in
                try await out.write(": what follows says when to ask again\n\n")
                for await message in messages() { try await out.write(Self.text(message)) }
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

    /// A message as server-sent events have it.
    static func text(_ message: Message) -> String {
        switch message {
        case .changed(let number): "id: \(number)\nevent: message\ndata: {\"type\":\"refetchEvaluation\"}\n\n"
        case .beat: ": \n\n"
        }
    }
}

/// A writer that a closure may capture; only one task uses it.
private final class WriterBox: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ text: String) async throws { try await writer.write(ByteBuffer(string: text)) }
}
