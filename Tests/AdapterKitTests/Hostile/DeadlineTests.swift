import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import Testing

@Suite("Deadlines")
struct DeadlineTests {
    /// A way to keep a client waiting.
    enum Delay: String, CaseIterable, Sendable {
        case stall, drip, slowHead, stallInBody, endlessHead, endlessChunks, slowHandshake, blackHole

        @Sendable func play(_ connection: RawConnection) {
            switch self {
            case .stall:
                connection.readRequest()
                connection.waitForClose()
            case .drip:
                connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while connection.send("x") { pause() }
            case .slowHead:
                connection.readRequest()
                for character in "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: " { connection.send("\(character)") }
                while connection.send("x") { pause() }
            case .stallInBody:
                connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
                connection.waitForClose()
            case .endlessHead:
                connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\n")
                while connection.send("X: y\r\n") { pause() }
            case .endlessChunks:
                connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while connection.send("1\r\nx\r\n") { pause() }
            case .slowHandshake, .blackHole:
                connection.waitForClose()
            }
        }

        /// Returns the request for a server with this delay.
        func request(_ server: RawServer) -> HTTPRequest {
            let scheme = self == .slowHandshake ? "https" : "http"
            return HTTPRequest(method: .post, scheme: scheme, authority: "127.0.0.1:\(server.port)", path: "/")
        }

        private func pause() { Thread.sleep(forTimeInterval: 0.005) }
    }

    static let deadline = Duration.milliseconds(200)

    /// `MeasuredExchangeTests` measures how late they end, in a process without other tests.
    @Test(
        "P35 every call ends by its deadline, whatever the server does",
        .timeLimit(.minutes(5)),
        arguments: Engine.hardened,
        Delay.allCases
    )
    func deadline(engine: Engine, delay: Delay) async throws {
        let server = try RawServer { delay.play($0) }
        defer { server.stop() }
        let results = await Self.tenTimes(engine.make(), delay.request(server), Self.deadline)
        #expect(results.map(\.0) == Array(repeating: .timeout, count: 10))
        #expect(results.allSatisfy { $0.1 >= Self.deadline - .milliseconds(20) })
    }

    @Test(
        "P35 a deadline that passes at once ends each of 500 calls",
        .timeLimit(.minutes(5)),
        arguments: Engine.hardened
    )
    func tiny(engine: Engine) async throws {
        let server = try RawServer { Delay.stall.play($0) }
        defer { server.stop() }
        let transport = engine.make()
        for _ in 0..<50 {
            let results = await Self.tenTimes(transport, Delay.stall.request(server), .nanoseconds(1))
            #expect(results.map(\.0) == Array(repeating: .timeout, count: 10))
        }
    }

    static func tenTimes(
        _ transport: any HTTPTransport,
        _ request: HTTPRequest,
        _ deadline: Duration
    ) async -> [(ErrorCode?, Duration)] {
        await withTaskGroup(of: (ErrorCode?, Duration).self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let start = ContinuousClock.now
                    do throws(ExperimentationError) {
                        _ = try await transport.send(request, body: [1], limits: HTTPLimits(deadline: deadline))
                        return (nil, ContinuousClock.now - start)
                    } catch {
                        return (error.code, ContinuousClock.now - start)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("nothing is sent after the deadline", arguments: Engine.hardened, [Duration.zero, .seconds(-1)])
    func passed(engine: Engine, deadline: Duration) async throws {
        let server = try RawServer { _ = $0.readRequest() }
        defer { server.stop() }
        let outcome = await exchange(engine, server, limits: HTTPLimits(deadline: deadline))
        #expect(outcome.code == .timeout)
        #expect(server.received.isEmpty)
    }
}
