import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// The gateway's connections: HTTP/1.1 with limits and rules.
struct GatewayChannel: HTTPChannelHandler {
    let limits: ConnectionLimits
    let forms: AnswerForms
    /// Answers requests that need no task of their own.
    let routes: GatewayServer.Responder
    /// Encrypts connections; `nil` for none.
    let certificate: CertificateInUse?
    let responder: HTTPChannelHandler.Responder

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<
        NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
    > {
        channel.eventLoop.makeCompletedFuture {
            var decoder = NIOHTTPDecoderLimitConfiguration()
            decoder.maxHeaderFieldSize = limits.headBytes
            decoder.maxHeaderListSize = limits.headBytes
            decoder.maxHeaderFieldCount = limits.headFields
            let pipeline = channel.pipeline.syncOperations
            if let certificate { try pipeline.addHandler(certificate.handler()) }
            let end = ConnectionEnd(idleTime: TimeAmount(limits.idleTime))
            try pipeline.addHandler(HeadDeadline(headTime: TimeAmount(limits.headTime), end: end))
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withErrorHandling: false,
                withOutboundHeaderValidation: false,
                withEncoderConfiguration: .init(),
                withDecoderLimitConfiguration: decoder
            )
            try pipeline.addHandler(ConnectionRules(bodyTime: TimeAmount(limits.bodyTime), forms: forms))
            try pipeline.addHandler(end)
            try pipeline.addHandler(HotRoutes(routes))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: certificate != nil))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                configuration: .init(isOutboundHalfClosureEnabled: true)
            )
        }
    }

    func handle(value: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>, logger: Logger) async {
        await handleHTTP(asyncChannel: value, logger: logger)
    }
}
