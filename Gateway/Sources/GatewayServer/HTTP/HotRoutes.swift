import NIOCore
import NIOHTTP1

/// Answers evaluations and streams of changes within the event loop, without a task and without Hummingbird's types;
/// passes everything else on to Hummingbird's handlers.
///
/// Answers keep the order of their requests: while a request that was passed on is unanswered, all later ones are
/// passed on as well.
final class HotRoutes: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let responder: Responder
    private var context: ChannelHandlerContext?
    /// The request that is being collected.
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()
    /// How many requests were passed on and aren't answered yet.
    private var further = 0
    private var hasWritten = false
    private var token = LastToken()
    private var stream: Stream?

    /// A client that listens for changes.
    private struct Stream {
        let changes: ChangeStreams
        let id: Int
        var progress: StreamProgress
    }

    /// Creates the routes of a connection.
    init(_ responder: Responder) { self.responder = responder }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        leave()
        self.context = nil
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            if further == 0, responder.mayAnswerAtOnce(head) {
                self.head = head
            } else {
                further += 1
                context.fireChannelRead(data)
            }
        case .body(var part):
            guard head != nil else { return context.fireChannelRead(data) }
            if body.readableBytes == 0 { body = part } else { body.writeBuffer(&part) }
        case .end:
            guard let head else { return context.fireChannelRead(data) }
            let body = body
            self.head = nil
            self.body = ByteBuffer()
            // A client that doesn't read its answers is left to Hummingbird's handlers, which can wait for it.
            if context.channel.isWritable, answer(head, body, context) { return }
            further += 1
            context.fireChannelRead(wrapInboundOut(.head(head)))
            if body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(body))) }
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if hasWritten {
            hasWritten = false
            context.flush()
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if stream != nil, case .inputClosed? = event as? ChannelEvent {
            leave()
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func answer(_ request: HTTPRequestHead, _ body: ByteBuffer, _ context: ChannelHandlerContext) -> Bool {
        if request.method == .GET { return listen(request, context) }
        guard let answer = responder.evaluateAtOnce(request, body, &token) else { return false }
        context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
        if let body = answer.body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        hasWritten = true
        return true
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { further = max(0, further - 1) }
        context.write(data, promise: promise)
    }

    // MARK: Streams

    private func listen(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) -> Bool {
        let routes = NIOLoopBound(self, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let listener = ChangeStreams.Listener(
            tell: { count in loop.execute { routes.value.tell(count) } },
            end: { loop.execute { routes.value.end() } }
        )
        guard let (head, changes, place) = responder.listenAtOnce(request, listener) else { return false }
        stream = Stream(changes: changes, id: place.id, progress: StreamProgress(told: place.count))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        say(changes.text(place.count, after: nil), context)
        return true
    }

    private func tell(_ count: Int) {
        guard let context, let stream,
            let news = self.stream?.progress.take(count, isReading: context.channel.isWritable)
        else { return }
        say(stream.changes.text(news.count, after: news.told), context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let due = stream?.progress.due { tell(due) }
        context.fireChannelWritabilityChanged()
    }

    private func say(_ text: String, _ context: ChannelHandlerContext) {
        let buffer = context.channel.allocator.buffer(string: text)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
    }

    private func end() {
        guard stream != nil, let context else { return }
        leave()
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func leave() {
        guard let stream else { return }
        self.stream = nil
        stream.changes.leave(stream.id)
    }
}
