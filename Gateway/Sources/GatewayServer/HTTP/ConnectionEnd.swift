import NIOCore
import NIOHTTP1

/// Closes a connection that has been silent or has read nothing of its answers for too long; at the shutdown, closes it
/// once all requests under way have been answered.
///
/// Hummingbird has a handler for this, but it comes after the routes that are answered within the event loop, so it
/// would treat a busy connection as silent.
final class ConnectionEnd: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let idleTime: TimeAmount
    private var timer: Scheduled<Void>?
    private var latest = NIODeadline.now()
    /// How many requests have begun and aren't answered yet.
    private var open = 0
    /// How many parts of requests have arrived.
    private(set) var parts = 0
    /// Whether no request is under way, so that bytes belong to the head of a new one.
    var awaitsHead: Bool { open <= 0 && !isReading }
    /// Whether a request has begun to arrive and isn't complete.
    private var isReading = false
    /// How many bytes were waiting for the client at the last check, unless an answer has ended since.
    private var unread = 0
    /// Whether the connection closes once no request is under way.
    private var isLast = false

    /// Creates the end of a connection.
    ///
    /// - Parameter idleTime: How long it may be silent.
    init(idleTime: TimeAmount) { self.idleTime = idleTime }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { watch(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelActive(context: ChannelHandlerContext) {
        latest = .now()
        watch(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parts += 1
        switch unwrapInboundIn(data) {
        case .head:
            open += 1
            isReading = true
        case .body: break
        case .end: isReading = false
        }
        latest = .now()
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        open -= 1
        unread = 0
        guard open <= 0 else { return context.write(data, promise: promise) }
        if isLast {
            context.writeAndFlush(data, promise: promise)
            context.close(promise: nil)
        } else {
            latest = .now()
            if timer == nil { watch(context) }
            context.write(data, promise: promise)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isLast = true
        if open <= 0 { context.close(promise: nil) }
    }

    private func watch(_ context: ChannelHandlerContext) {
        let (end, bound) = (
            NIOLoopBound(self, eventLoop: context.eventLoop), NIOLoopBound(context, eventLoop: context.eventLoop)
        )
        timer = context.eventLoop.scheduleTask(deadline: latest + idleTime) { end.value.look(bound.value) }
    }

    private func look(_ context: ChannelHandlerContext) {
        timer = nil
        // A client that awaits an answer has nothing to send, but it has to read what was written.
        if open > 0, !isReading {
            let before = unread
            unread = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            if unread > 0, unread == before { return context.close(promise: nil) }
            latest = .now()
            return watch(context)
        }
        if latest + idleTime <= .now() { context.close(promise: nil) } else { watch(context) }
    }
}
