import NIOCore
import NIOHTTP1

/// What a connection must keep to before a request counts: one host, a body in time, and an end when somebody asked for it.
///
/// It stands between the parser and the rest, where the version of HTTP is still known. What it refuses never reaches a
/// route.
final class ConnectionRules: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a client that doesn't close may take to read the last answer.
    private static let linger = TimeAmount.milliseconds(500)

    private let bodyTime: TimeAmount
    private let forms: AnswerForms
    private var bodyDeadline: Scheduled<Void>?
    private var answersOwed = 0
    /// Whether nothing that comes in is looked at any more.
    private var isDeaf = false
    /// Whether the answer that comes next but `answersOwed` is the last one.
    private var isLast = false
    private var isClosing = false

    /// Creates the rules of one connection.
    ///
    /// - Parameters:
    ///   - bodyTime: How long a body may take from its head to its end.
    ///   - forms: How a refusal is written.
    init(bodyTime: TimeAmount, forms: AnswerForms) {
        self.bodyTime = bodyTime
        self.forms = forms
    }

    func handlerRemoved(context: ChannelHandlerContext) { bodyDeadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        bodyDeadline?.cancel()
        context.fireChannelInactive()
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeaf else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            let hosts = head.headers["host"].count
            guard hosts == 1 || hosts == 0 && head.version.minor == 0 else {
                return refuse(.badRequest, "A request names one host.", context)
            }
            answersOwed += 1
            if !head.isKeepAlive { isLast = true }
            if expectsContinue(head), answersOwed == 1 {
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))),
                    promise: nil
                )
            }
            startBodyDeadline(context)
        case .body: break
        case .end:
            bodyDeadline?.cancel()
            bodyDeadline = nil
            // What comes behind a request that closes the connection is nobody's.
            if isLast { isDeaf = true }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Nobody asks for more when the last answer is written; without it the client's end would never be seen.
        if isClosing { context.read() }
    }

    private func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version.minor > 0 && head.headers["expect"].contains { $0.lowercased() == "100-continue" }
    }

    private func startBodyDeadline(_ context: ChannelHandlerContext) {
        bodyDeadline?.cancel()
        let rules = NIOLoopBound(self, eventLoop: context.eventLoop)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        bodyDeadline = context.eventLoop.scheduleTask(in: bodyTime) {
            rules.value.refuse(.requestTimeout, "The request took too long.", bound.value)
        }
    }

    /// Answers by itself and closes.
    private func refuse(_ status: HTTPResponseStatus, _ message: String, _ context: ChannelHandlerContext) {
        isDeaf = true
        bodyDeadline?.cancel()
        // An answer of a route may be under way; nothing may come between its parts.
        guard answersOwed <= 1, !isClosing else { return context.close(promise: nil) }
        isLast = true
        isClosing = true
        let (fields, body) = forms.refusal(Int(status.code), message)
        var head = HTTPResponseHead(version: .http1_1, status: status)
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        finish(context, promise: nil)
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            // The route was too slow: the refusal has been written already.
            guard !isClosing else { return fail(promise) }
            if head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "close" }) {
                isLast = true
                isDeaf = true
            } else if isLast, answersOwed == 1 {
                head.headers.replaceOrAdd(name: "connection", value: "close")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            guard !isClosing else { return fail(promise) }
            context.write(data, promise: promise)
        case .end:
            guard !isClosing else { return fail(promise) }
            answersOwed -= 1
            guard isLast, answersOwed == 0 || isDeaf else { return context.write(data, promise: promise) }
            isClosing = true
            bodyDeadline?.cancel()
            finish(context, promise: promise)
        }
    }

    private func fail(_ promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.ioOnClosedChannel) }

    /// Ends the last answer, and closes in two steps, so that a client that is still sending can read it.
    private func finish(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let written = promise ?? context.eventLoop.makePromise()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        written.futureResult.whenComplete { _ in
            let context = bound.value
            context.close(mode: .output, promise: nil)
            context.read()
            context.eventLoop.scheduleTask(in: Self.linger) { bound.value.close(promise: nil) }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }
}
