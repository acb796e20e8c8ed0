import NIOCore
import NIOHTTP1

/// A complete request, with what the connection needs to know about it.
struct Arrival: Sendable {
    var request: MockRequest
    /// The number of bytes received, head and body.
    var bytes: Int
    /// Whether the client keeps the connection open for another request.
    var keepsConnection: Bool
}

/// Assembles requests from their parts and rejects those that any vendor's front end would reject.
final class RequestCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = Arrival
    typealias OutboundOut = ByteBuffer

    /// The maximum size of a request's body, in bytes.
    static let largestBody = 32 << 20

    private let counter: ByteCounter
    private let encodings: Set<String>
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isRefused = false
    /// Whether the client has announced that its last request was the final one.
    private var isOver = false

    init(counter: ByteCounter, accepting encodings: Set<String>) {
        self.counter = counter
        self.encodings = encodings
    }

    /// Builds a connection's pipeline, which passes on bodies in these encodings, given in lower case.
    static func install(
        in channel: any Channel,
        accepting encodings: Set<String>
    ) throws -> NIOAsyncChannel<Arrival, ByteBuffer> {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 64 << 10
        limits.maxHeaderListSize = 256 << 10
        limits.maxHeaderFieldCount = 200
        let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
        let counter = ByteCounter()
        try channel.pipeline.syncOperations.addHandlers([
            counter, ByteToMessageHandler(decoder), RequestCollector(counter: counter, accepting: encodings),
        ])
        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            let hosts = head.headers["Host"].count
            guard hosts == 1 || hosts == 0 && head.version.minor == 0 else {
                return refuse(400, "a request names one host", context)
            }
            guard head.headers["Content-Length"].allSatisfy({ Int($0) ?? .max <= Self.largestBody }) else {
                return refuse(413, "a body may have \(Self.largestBody) bytes", context)
            }
            if head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" }) {
                let go = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")
                context.writeAndFlush(wrapOutboundOut(go), promise: nil)
            }
            let named = head.headers["Content-Encoding"].map { $0.lowercased() }.filter { $0 != "identity" }
            guard named.count < 2, named.allSatisfy(encodings.contains) else {
                return refuse(415, "Content-Encoding \(named.joined(separator: ", ")) is not understood", context)
            }
        case .body(let part):
            guard body.count + part.readableBytes <= Self.largestBody else {
                return refuse(413, "a body may have \(Self.largestBody) bytes", context)
            }
            body.append(contentsOf: part.readableBytesView)
        case .end:
            guard let head else { return }
            isOver = !head.isKeepAlive
            context.fireChannelRead(wrapInboundOut(arrival(head)))
            self.head = nil
            body = []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError, isOver {
            // Anything that follows regardless gets no answer, not even a rejection: the connection closes with the
            // last answer.
            return
        }
        if error is HTTPParserError, !isRefused {
            refuse(400, "not a valid HTTP request: \(error)", context)
        } else {
            // A reset by the client ends the connection; there is no one left to answer.
            context.close(promise: nil)
        }
    }

    private func arrival(_ head: HTTPRequestHead) -> Arrival {
        var target = head.uri[...]
        if !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") {
            // The absolute form, as sent to a proxy.
            target = target[scheme.upperBound...].drop { $0 != "/" }
        }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let request = MockRequest(
            method: head.method.rawValue,
            path: String(parts.first ?? ""),
            query: parts.count > 1 ? String(parts[1]) : nil,
            headers: head.headers.map { MockRequest.Header($0.name, $0.value) },
            body: body
        )
        return Arrival(request: request, bytes: counter.take(), keepsConnection: head.isKeepAlive)
    }

    private func refuse(_ status: Int, _ reason: String, _ context: ChannelHandlerContext) {
        isRefused = true
        let answer = MockResponse(status: status, type: "text/plain; charset=utf-8", text: reason + "\n")
        let bytes = ResponseBytes.whole(answer, to: "GET", keepsConnection: false)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
            // Closing with unread bytes sends a reset, which can destroy the answer. So further input is read and
            // discarded until the client closes or its time is up.
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: .seconds(2)) { channel.close(promise: nil) }
        }
    }
}

/// Counts the bytes received.
final class ByteCounter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    /// Returns the count since the last call.
    func take() -> Int {
        defer { count = 0 }
        return count
    }
}
