import NIOCore

/// Closes a connection whose request line and fields take too long.
///
/// Placed before the parser, which passes a head on only when it is complete. While no request is under way, bytes that
/// yield no part of a request therefore belong to a head.
final class HeadDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let headTime: TimeAmount
    private let end: ConnectionEnd
    private var deadline: Scheduled<Void>?

    /// Creates the deadline of a connection.
    ///
    /// - Parameters:
    ///   - headTime: How long a head may take.
    ///   - end: Knows whether a request is under way.
    init(headTime: TimeAmount, end: ConnectionEnd) {
        self.headTime = headTime
        self.end = end
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let before = end.parts
        context.fireChannelRead(data)
        guard end.parts == before else {
            deadline?.cancel()
            deadline = nil
            return
        }
        guard end.awaitsHead, deadline == nil else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: headTime) { bound.value.close(promise: nil) }
    }
}
