import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// The gateway's connections: HTTP/1.1 with limits and rules.
struct GatewayChannel: HTTPChannelHandler {
    typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    let limits: ConnectionLimits
    let forms: AnswerForms
    /// Answers what needs no task of its own.
    let routes: GatewayServer.Responder
    /// Encrypts connections; `nil` for none.
    let certificate: CertificateInUse?
    let responder: HTTPChannelHandler.Responder

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoder = NIOHTTPDecoderLimitConfiguration()
            decoder.maxHeaderFieldSize = limits.headBytes
            decoder.maxHeaderListSize = limits.headBytes
            decoder.maxHeaderFieldCount = limits.headFields
            let pipeline = channel.pipeline.syncOperations
            if let certificate { try pipeline.addHandler(certificate.handler()) }
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withErrorHandling: false,
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: decoder
            )
            try pipeline.addHandler(ConnectionRules(bodyTime: TimeAmount(limits.bodyTime), forms: forms))
            try pipeline.addHandler(ConnectionEnd(idleTime: TimeAmount(limits.idleTime)))
            try pipeline.addHandler(HotRoutes(routes))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: certificate != nil))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        }
    }

    func handle(value: Value, logger: Logger) async { await handleHTTP(asyncChannel: value, logger: logger) }
}

/// The size and time limits of connections.
public struct ConnectionLimits: Sendable, Hashable {
    /// The maximum number of connections; further ones wait to be accepted.
    public var connections = 20_000
    /// The maximum size of the request line and all fields, in bytes; larger ones get 400.
    public var headBytes = 16_384
    /// The maximum number of header fields; more get 400.
    public var headFields = 100
    /// The maximum size of a body, in bytes; larger ones get 413, and the connection is closed.
    public var bodyBytes = 1_000_000
    /// The maximum time from the end of a head to the end of its body; then 408.
    public var bodyTime = Duration.seconds(10)
    /// How long a connection may be idle or receive a head before it is closed.
    public var idleTime = Duration.seconds(60)

    /// Creates limits with defaults.
    public init() {}
}
