import AdapterKit
import Experimentation
import HTTPTypes
import Synchronization
import Testing
import Waiting

@Suite("Streamed responses")
struct StreamTests {
    /// The parts received so far.
    private final class Parts: Sendable {
        private let parts = Mutex<[HTTPPart]>([])
        func take(_ part: HTTPPart) { parts.withLock { $0.append(part) } }
        var statuses: [Int] {
            parts.withLock { $0.compactMap { if case .head(let head) = $0 { head.status.code } else { nil } } }
        }
        var text: String {
            let bytes = parts.withLock { $0.flatMap { if case .body(let bytes) = $0 { bytes } else { [UInt8]() } } }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The number of connections that the client has closed.
    private final class Closed: Sendable {
        private let number = Mutex(0)
        func note() { number.withLock { $0 += 1 } }
        var count: Int { number.withLock { $0 } }
    }

    private static func request(_ server: RawServer) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/sse")
    }

    @Test("the head and each part are passed on while the connection is open", arguments: Engine.hardened)
    func asTheyCome(engine: Engine) async throws {
        let closed = Closed()
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            connection.send("one ")
            connection.waitForClose()
            closed.note()
        }
        defer { server.stop() }
        let parts = Parts()
        let task = Task { () -> ErrorCode? in
            do throws(ExperimentationError) {
                _ = try await engine.make().stream(Self.request(server), limits: HTTPLimits()) { parts.take($0) }
                return nil
            } catch {
                return error.code
            }
        }
        try await eventually("the first part") { parts.text == "one " }
        #expect(parts.statuses == [200])
        #expect(closed.count == 0)
        task.cancel()
        #expect(await task.value == .cancelled)
        try await eventually("the connection is closed") { closed.count == 1 }
    }

    @Test("a stream ends with its connection and returns its head", arguments: Engine.allCases)
    func ends(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none ")
            connection.send("two")
        }
        defer { server.stop() }
        let parts = Parts()
        let head = try await engine.make().stream(Self.request(server), limits: HTTPLimits()) { parts.take($0) }
        #expect(head.status == .ok)
        #expect(parts.statuses == [200])
        #expect(parts.text == "one two")
    }

    @Test("the head is passed on once, even if fields follow the body", arguments: Engine.hardened)
    func trailers(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.send("3\r\none\r\n0\r\nX-First: 1\r\nX-Second: 2\r\n\r\n")
        }
        defer { server.stop() }
        let parts = Parts()
        let head = try await engine.make().stream(Self.request(server), limits: HTTPLimits()) { parts.take($0) }
        #expect(head.status == .ok)
        #expect(parts.statuses == [200])
        #expect(parts.text == "one")
        #expect(Set(head.headerFields.map(\.name.canonicalName)) == ["transfer-encoding"])
    }

    @Test("a stream respects its limits on bytes and time", arguments: Engine.hardened)
    func limited(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\n\r\n0123456789")
            connection.waitForClose()
        }
        defer { server.stop() }
        for (limits, code) in [
            (HTTPLimits(deadline: .seconds(10), responseBytes: 5), ErrorCode.tooLarge),
            (HTTPLimits(deadline: .milliseconds(200), responseBytes: 100), .timeout),
        ] {
            do throws(ExperimentationError) {
                _ = try await engine.make().stream(Self.request(server), limits: limits) { _ in }
                Issue.record("it ended well")
            } catch {
                #expect(error.code == code)
            }
        }
    }
}
