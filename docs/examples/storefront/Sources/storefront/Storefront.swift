import Experimentation
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import VendorCatalog

/// A service whose vendor is a line in a file: `storefront vendor.json`.
///
/// - `GET /button?user=ID` answers which color the button has for a user, and why.
/// - `POST /paid?user=ID` notes a purchase, for vendors that take events.
///
/// The first line of its output is the address; SIGTERM ends it, with what it accepted delivered.
@main
struct Storefront {
    typealias Exchange = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    let client: ExperimentationClient

    static func main() async {
        do {
            try await run()
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("storefront: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        guard CommandLine.arguments.count == 2,
            let json = FileManager.default.contents(atPath: CommandLine.arguments[1])
        else { return print("usage: storefront VENDOR.json") }
        let provider = try VendorCatalog.provider(
            json: Array(json),
            file: CommandLine.arguments[1],
            environment: ProcessInfo.processInfo.environment
        )
        let client = try await ExperimentationClient(provider: provider)
        let serving = Task { try await Storefront(client: client).serve() }
        signal(SIGTERM, SIG_IGN)
        let asked = DispatchSource.makeSignalSource(signal: SIGTERM)
        asked.setEventHandler { serving.cancel() }
        asked.resume()
        _ = await serving.result
        asked.cancel()
        await client.shutdown()
    }

    func serve() async throws {
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    return try Exchange(wrappingChannelSynchronously: channel)
                }
            }
        let address = "http://127.0.0.1:\(listener.channel.localAddress?.port ?? 0)\n"
        try FileHandle.standardOutput.write(contentsOf: Data(address.utf8))
        try await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await connection in connections {
                    group.addTask { try? await converse(connection) }
                }
            }
        }
    }

    private func converse(_ connection: Exchange) async throws {
        try await connection.executeThenClose { requests, responses in
            var head: HTTPRequestHead?
            for try await part in requests {
                if case .head(let received) = part { head = received }
                guard case .end = part, let asked = head else { continue }
                let (status, text) = await answer(asked)
                var response = HTTPResponseHead(version: asked.version, status: status)
                response.headers.add(name: "Content-Type", value: "application/json")
                response.headers.add(name: "Content-Length", value: "\(text.utf8.count)")
                try await responses.write(.head(response))
                try await responses.write(.body(.byteBuffer(ByteBuffer(string: text))))
                try await responses.write(.end(nil))
            }
        }
    }

    private func answer(_ request: HTTPRequestHead) async -> (HTTPResponseStatus, String) {
        let address = URLComponents(string: request.uri)
        guard let id = address?.queryItems?.first(where: { $0.name == "user" })?.value, !id.isEmpty else {
            return (.badRequest, #"{"error":"name a user"}"#)
        }
        let user = User(id: id, consent: .granted)
        do throws(ExperimentationError) {
            switch (request.method, address?.path) {
            case (.GET, "/button"):
                let button = try await client.decisions(for: user).details("checkout-color", default: "black")
                return (.ok, #"{"color":"\#(button.value)","reason":"\#(button.reason)"}"#)
            case (.POST, "/paid"):
                try await client.track(.custom("paid"), for: user)
                return (.accepted, "{}")
            default: return (.notFound, #"{"error":"nothing here"}"#)
            }
        } catch {
            return (.serviceUnavailable, #"{"error":"\#(error.code)"}"#)
        }
    }
}
