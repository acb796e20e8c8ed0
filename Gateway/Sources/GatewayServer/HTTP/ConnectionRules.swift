import NIOCore
import NIOHTTP1

/// Enforces the rules of a connection before requests are processed: one host, a body in time, and a close when
/// requested.
///
/// Placed directly after the parser, where the HTTP version is still known. Rejected requests never reach a route.
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
    /// Whether a request has begun and its end is still awaited.
    private var isEndDue = false
    private var answersOwed = 0
    /// Whether further input is ignored.
    private var isDeaf = false
    /// Whether the connection closes after all outstanding answers.
    private var isLast = false
    /// Whether an answer has begun and hasn't ended.
    private var isAnswering = false
    /// Whether the current answer is the last one, regardless of outstanding ones.
    private var isAnswerLast = false
    private var isClosing = false

    /// Creates the rules of a connection.
    ///
    /// - Parameters:
    ///   - bodyTime: The maximum time from the end of a head to the end of its body.
    ///   - forms: The format of rejections.
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
            let hosts = head.headers.reduce(0) { $1.name.isField("host") ? $0 + 1 : $0 }
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
            isEndDue = true
        case .body: break
        case .end:
            isEndDue = false
            bodyDeadline?.cancel()
            bodyDeadline = nil
            // Input after a request that closes the connection is discarded.
            if isLast { isDeaf = true }
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // Most requests are complete by now and need no timer.
        if isEndDue, bodyDeadline == nil, !isDeaf { startBodyDeadline(context) }
        // No further read is requested after the last answer, so without this one the client's close would go
        // unnoticed.
        if isClosing { context.read() }
    }

    private func expectsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version.minor > 0
            && head.headers.contains { $0.name.isField("expect") && $0.value.lowercased() == "100-continue" }
    }

    private func startBodyDeadline(_ context: ChannelHandlerContext) {
        let rules = NIOLoopBound(self, eventLoop: context.eventLoop)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        bodyDeadline = context.eventLoop.scheduleTask(in: bodyTime) {
            rules.value.refuse(.requestTimeout, "The request took too long.", owed: 1, bound.value)
        }
    }

    /// Sends a rejection and closes; while other answers are outstanding, only closes.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - message: The reason, for the client.
    ///   - owed: The number of outstanding answers if this one is next: 1 if its request was passed on.
    ///   - context: The connection.
    private func refuse(
        _ status: HTTPResponseStatus,
        _ message: String,
        owed: Int = 0,
        _ context: ChannelHandlerContext
    ) {
        isDeaf = true
        isLast = true
        bodyDeadline?.cancel()
        guard !isClosing else { return }
        // An answer can't be inserted into another, so a body that stalls during an answer or behind earlier ones just
        // closes the connection.
        guard !isAnswering, answersOwed == owed else {
            if owed > 0 { context.close(promise: nil) }
            return
        }
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
        // The route was too slow, and a rejection has been written instead of its answer.
        guard !isClosing else { return fail(promise) }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            isAnswering = true
            if head.headers.contains(where: { $0.name.isField("connection") && $0.value.lowercased() == "close" }) {
                isAnswerLast = true
                isDeaf = true
            } else if isLast, answersOwed <= 1 {
                isAnswerLast = true
                head.headers.replaceOrAdd(name: "connection", value: "close")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end:
            isAnswering = false
            answersOwed -= 1
            guard isAnswerLast || isLast && answersOwed <= 0 else { return context.write(data, promise: promise) }
            isClosing = true
            bodyDeadline?.cancel()
            finish(context, promise: promise)
        }
    }

    private func fail(_ promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.ioOnClosedChannel) }

    /// Ends the last answer and closes in two steps, so that a client that is still sending can read it.
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

extension String {
    /// Whether a field has this name, which is given in lower case.
    fileprivate func isField(_ name: StaticString) -> Bool {
        utf8.count == name.utf8CodeUnitCount
            && name.withUTF8Buffer { utf8.elementsEqual($0) { $0 | 0x20 == $1 } }
    }
}
