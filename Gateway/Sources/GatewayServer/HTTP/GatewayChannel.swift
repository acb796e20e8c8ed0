import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// A connection of the gateway: HTTP/1.1 with limits, and the rules that every request must keep to.
struct GatewayChannel: HTTPChannelHandler {
    typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    let limits: ConnectionLimits
    let forms: AnswerForms
    let responder: HTTPChannelHandler.Responder

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoder = NIOHTTPDecoderLimitConfiguration()
            decoder.maxHeaderFieldSize = limits.headBytes
            decoder.maxHeaderListSize = limits.headBytes
            decoder.maxHeaderFieldCount = limits.headFields
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withErrorHandling: false,
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: decoder
            )
            try pipeline.addHandler(ConnectionRules(bodyTime: TimeAmount(limits.bodyTime), forms: forms))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(HTTPConnectionStateHandler(idleTimeout: limits.idleTime, logger: logger))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        }
    }

    func handle(value: Value, logger: Logger) async { await handleHTTP(asyncChannel: value, logger: logger) }
}

/// How much a connection may hold and how long it may take.
public struct ConnectionLimits: Sendable, Hashable {
    /// How many connections there are at once; more wait to be accepted.
    public var connections = 20_000
    /// The bytes of a request's line and of all its fields; more are answered with 400.
    public var headBytes = 16_384
    /// How many fields a request has at most; more are answered with 400.
    public var headFields = 100
    /// The bytes of a body; more are answered with 413, and the connection is closed.
    public var bodyBytes = 1_000_000
    /// How long a body may take from the end of its head to its own; then 408.
    public var bodyTime = Duration.seconds(10)
    /// How long a connection may be silent, or be busy with a head, before it is closed.
    public var idleTime = Duration.seconds(60)

    /// Creates limits with their defaults.
    public init() {}
}
