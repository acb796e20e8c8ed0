import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import MockVendors
import Testing

@Suite("Sizes", .serialized)
struct SizeTests {
    private static let cap = 8 << 20

    /// How much memory the process holds, in bytes.
    private func memory() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096
    }

    /// The least growth of several runs: others grow and shrink in the same process, but an engine that keeps a body would
    /// grow each time.
    private func growth(of run: () async throws -> Void) async rethrows -> Int {
        var least = Int.max
        for _ in 0..<6 where least > 32 << 20 {
            let before = memory()
            try await run()
            least = min(least, memory() - before)
        }
        return least
    }

    @Test("P50 a stream of 100 MB is given up at the limit", arguments: Engine.hardened, [true, false])
    func stream(engine: Engine, announced: Bool) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            let length = announced ? "Content-Length: 104857600\r\n" : "Connection: close\r\n"
            connection.send("HTTP/1.1 200 OK\r\n\(length)\r\n")
            let chunk = [UInt8](repeating: 120, count: 1 << 16)
            for _ in 0..<1600 where !connection.send(chunk) { return }
        }
        defer { server.stop() }
        let limits = HTTPLimits(deadline: .seconds(30), responseBytes: Self.cap)
        let grown = await growth {
            let sent = server.bytesSent
            #expect(await exchange(engine, server, limits: limits).code == .tooLarge)
            #expect(server.bytesSent - sent <= 2 * Self.cap)
        }
        #expect(grown <= 32 << 20)
    }

    @Test("P50 200 MB compressed to 200 KB are given up at the limit", arguments: Engine.hardened)
    func bomb(engine: Engine) async throws {
        let server = MockServer(Bomber())
        try await server.start()
        let request = try Endpoint(server.url).request(.get, path: ["bomb"])
        let limits = HTTPLimits(deadline: .seconds(30), responseBytes: Self.cap)
        let grown = await growth {
            let error = await #expect(throws: ExperimentationError.self) {
                try await engine.make().send(request, body: [], limits: limits)
            }
            #expect(error?.code == .tooLarge)
        }
        await server.stop()
        #expect(grown <= 32 << 20)
    }

    @Test("a body at the limit is taken, one byte more is not", arguments: Engine.hardened)
    func edge(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1000))
        }
        defer { server.stop() }
        for (limit, code) in [(1000, nil), (999, ErrorCode.tooLarge), (0, .tooLarge)] {
            let limits = HTTPLimits(deadline: .seconds(5), responseBytes: limit)
            #expect(await exchange(engine, server, limits: limits).code == code)
        }
    }
}

/// Answers everything with a bomb.
private struct Bomber: MockVendor {
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
