import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import MockVendors
import Testing

@Suite("Sizes", .serialized)
struct SizeTests {
    static let cap = 8 << 20

    /// Answers with a body of a given size.
    @Sendable static func stream(_ count: Int, announced: Bool, to connection: RawConnection) {
        connection.readRequest()
        let length = announced ? "Content-Length: \(count)\r\n" : "Connection: close\r\n"
        connection.send("HTTP/1.1 200 OK\r\n\(length)\r\n")
        let chunk = [UInt8](repeating: 120, count: 1 << 16)
        for _ in 0..<(count >> 16) where !connection.send(chunk) { return }
    }

    @Test("P50 a stream of 100 MB is aborted at the limit", arguments: Engine.hardened, [true, false])
    func stream(engine: Engine, announced: Bool) async throws {
        let server = try RawServer { Self.stream(100 << 20, announced: announced, to: $0) }
        defer { server.stop() }
        let limits = HTTPLimits(deadline: .seconds(30), responseBytes: Self.cap)
        #expect(await exchange(engine, server, limits: limits).code == .tooLarge)
        #expect(server.bytesSent <= 2 * Self.cap)
    }

    @Test("P50 200 MB compressed to 200 KB are aborted at the limit", arguments: Engine.hardened)
    func bomb(engine: Engine) async throws {
        let server = MockServer(Bomber())
        try await server.start()
        let request = try Endpoint(server.url).request(.get, path: ["bomb"])
        let limits = HTTPLimits(deadline: .seconds(30), responseBytes: Self.cap)
        let error = await #expect(throws: ExperimentationError.self) {
            try await engine.make().send(request, body: [], limits: limits)
        }
        #expect(error?.code == .tooLarge)
        await server.stop()
    }

    @Test("a body at the limit is accepted, one byte more isn't", arguments: Engine.hardened)
    func edge(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1000))
        }
        defer { server.stop() }
        for (limit, code) in [(1000, nil), (999, ErrorCode.tooLarge), (0, .tooLarge)] {
            let limits = HTTPLimits(deadline: .seconds(60), responseBytes: limit)
            #expect(await exchange(engine, server, limits: limits).code == code)
        }
    }
}

/// Answers every request with a compression bomb.
struct Bomber: MockVendor {
    static let name = "bomber"
    var credentials: [String: String] { [:] }
    func operation(of request: MockRequest) -> String { "bomb" }
    func endpoints(at base: String) -> [String: String] { [:] }
    func respond(to request: MockRequest) async -> MockResponse {
        MockResponse(status: 200, fault: .compressedBomb(bytes: 200 << 20))
    }
    func reset() async {}
    func load(_ world: Data) async throws(MockWorldError) {}
}
