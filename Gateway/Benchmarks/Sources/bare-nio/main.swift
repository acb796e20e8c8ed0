import FixedAnswer
import NIOCore
import NIOHTTP1
import NIOPosix

/// NIO's HTTP with a handler that reads the request and returns a recorded answer.
private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let head: HTTPResponseHead
    private let body: ByteBuffer
    private var received = 0

    init(_ head: HTTPResponseHead, _ body: ByteBuffer) {
        self.head = head
        self.body = body
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: received = 0
        case .body(let part): received += part.readableBytes
        case .end:
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if body.readableBytes > 0 { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

let answer = try FixedAnswer()
var fields = HTTPHeaders()
for (name, value) in answer.fields { fields.add(name: name, value: value) }
let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: fields)
let body = ByteBuffer(bytes: answer.body)
let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    .serverChannelOption(.backlog, value: 1_024)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
            try channel.pipeline.syncOperations.addHandler(Handler(head, body))
        }
    }
    .bind(host: "127.0.0.1", port: 0).get()
announce(port: channel.localAddress?.port)
try await channel.closeFuture.get()
