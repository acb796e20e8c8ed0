import NIOCore
import NIOPosix
import Synchronization

/// A client that keeps its connection as long as the server does, as a balancer's would.
actor KeptWire {
    private let port: Int
    private var connection: Connection?
    /// What went wrong with the last request that got no answer.
    private(set) var trouble = ""

    private struct Connection {
        var channel: any Channel
        var answers: AsyncThrowingStream<ByteBuffer, any Error>.Iterator
    }

    init(port: Int) { self.port = port }

    /// Makes a request and reads the whole of its answer.
    ///
    /// - Returns: The answer; `nil` if the connection was cut before it was complete.
    func post(_ path: String, _ body: String, token: String) async -> WireAnswer? {
        var lines = ["POST \(path) HTTP/1.1", "Host: test", "Authorization: Bearer \(token)"]
        lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        let isKept = connection?.channel.isActive == true
        guard var connection = try? await opened() else { return failed("no connection") }
        self.connection = nil
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        guard (try? await connection.channel.writeAndFlush(ByteBuffer(string: text)).get()) != nil else {
            return failed("not sent, kept: \(isKept)")
        }
        var received = ""
        while true {
            let answer = WireAnswer(received)
            if answer.status != 0, let length = answer.fields["content-length"].flatMap({ Int($0) }),
                answer.body.utf8.count >= length
            {
                if answer.fields["connection"]?.lowercased() == "close" {
                    try? await connection.channel.close()
                } else {
                    self.connection = connection
                }
                return answer
            }
            guard let part = try? await connection.answers.next(isolation: self) else {
                return failed("cut, kept: \(isKept), after: \(received)")
            }
            received += String(buffer: part)
        }
    }

    private func failed(_ what: String) -> WireAnswer? {
        trouble = what
        return nil
    }

    /// Ends the connection.
    func close() async { try? await connection?.channel.close() }

    private func opened() async throws -> Connection {
        if let connection, connection.channel.isActive { return connection }
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Passing(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return Connection(channel: channel, answers: stream.makeAsyncIterator())
    }

    private final class Passing: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation

        init(_ continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation) {
            self.continuation = continuation
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }
        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            continuation.finish()
            context.close(promise: nil)
        }
    }
}

/// A caller's kept connections to several servers, by their ports.
final class KeptWires: Sendable {
    private let wires = Mutex<[Int: KeptWire]>([:])

    subscript(port: Int) -> KeptWire {
        wires.withLock { wires in
            if let wire = wires[port] { return wire }
            let wire = KeptWire(port: port)
            wires[port] = wire
            return wire
        }
    }

    /// Ends all connections.
    func close() async { for wire in wires.withLock({ Array($0.values) }) { await wire.close() } }
}
