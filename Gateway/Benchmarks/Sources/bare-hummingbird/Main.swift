import FixedAnswer
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Hummingbird's core with a handler that reads the request and returns a recorded answer.
@main
enum BareHummingbird {
    static func main() async throws {
        let answer = try FixedAnswer()
        var fields = HTTPFields()
        for (name, value) in answer.fields { if let name = HTTPField.Name(name) { fields[name] = value } }
        let head = HTTPResponse(status: .init(code: answer.status), headerFields: fields)
        let body = ByteBuffer(bytes: answer.body)
        let channel = HTTP1Channel(responder: { request, writer, _ in
            var bytes: [UInt8] = []
            for try await part in request.body { bytes.append(contentsOf: part.readableBytesView) }
            try await writer.write(response: head, body: body.readableBytes == 0 ? .init() : .init(byteBuffer: body))
        })
        let server = channel.server(
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0), backlog: 1_024),
            onServerRunning: { channel in announce(port: channel.localAddress?.port) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "bare") { _ in SwiftLogNoOpLogHandler() }
        )
        try await ServiceGroup(
            services: [server],
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "bare") { _ in SwiftLogNoOpLogHandler() }
        ).run()
    }
}
