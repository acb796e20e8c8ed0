import AdapterKit
import Experimentation
import HTTPTypes
import Testing
import Waiting

@Suite("Broken answers")
struct BrokenAnswerTests {
    /// Bytes that don't form a complete response, and whether the connection is reset after them.
    struct Broken: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: String
        var resets = false

        init(_ name: String, _ bytes: String, resets: Bool = false) {
            testDescription = name
            self.bytes = bytes
            self.resets = resets
        }
    }

    static let answers = [
        Broken("closes at once", ""),
        Broken("resets at once", "", resets: true),
        Broken("closes in the status line", "HTTP/1."),
        Broken("closes in the head", "HTTP/1.1 200 OK\r\nContent-Le"),
        Broken("truncates the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
        Broken("resets in the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", resets: true),
        Broken("truncates a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
        Broken("leaves the last chunk out", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"),
        Broken(
            "has a chunk without a size",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n"
        ),
        Broken("isn't HTTP", "\u{1}\u{2}nonsense\r\n\r\n"),
        Broken("is HTTP 0.9", "<html>hello</html>"),
        Broken("is another protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
        Broken("has no status", "HTTP/1.1 OK\r\n\r\n"),
        Broken("has only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"),
        Broken(
            "has damaged compression",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!"
        ),
        Broken(
            "has a head of a megabyte",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1 << 20) + "\r\n\r\n"
        ),
        Broken(
            "has ten thousand fields",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 10_000) + "\r\n"
        ),
        Broken("has two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"),
        Broken("has a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc"),
        Broken("has an impossible length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nabc"),
    ]

    @Test("P10 an incomplete answer is a transport error", arguments: Engine.hardened, answers)
    func incomplete(engine: Engine, broken: Broken) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send(broken.bytes)
            if broken.resets { connection.resetOnClose() }
        }
        defer { server.stop() }
        let limits = HTTPLimits(deadline: .seconds(60), responseBytes: 1 << 20)
        let outcome = await exchange(engine, server, .post, body: "event", limits: limits)
        #expect(outcome.code == .transport)
        #expect(server.received.count == 1)
    }

    @Test(
        "an answer longer than announced is cut, and the rest isn't taken for the next answer",
        arguments: Engine.hardened
    )
    func tooLong(engine: Engine) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                )
            }
        }
        defer { server.stop() }
        let transport = engine.make()
        for _ in 0..<3 {
            let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
            let reply = try? await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(60)))
            #expect(reply == nil || reply?.text == "ok")
        }
    }

    @Test(
        "a request isn't repeated when a reused connection turns out to be dead",
        arguments: [HTTPRequest.Method.get, .post]
    )
    func noRetry(method: HTTPRequest.Method) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.readRequest()
            connection.resetOnClose()
        }
        defer { server.stop() }
        let transport = DefaultTransport.make()
        let request = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        let limits = HTTPLimits(deadline: .seconds(60))
        #expect(try await transport.send(request, body: [1], limits: limits).text == "ok")
        let error = await #expect(throws: ExperimentationError.self) {
            try await transport.send(request, body: [1], limits: limits)
        }
        #expect(error?.code == .transport)
        #expect(server.received.count == 2)
        // The engine itself still works.
        #expect(try await transport.send(request, body: [1], limits: limits).text == "ok")
    }

    @Test(
        "an unreachable server is a transport error, at once",
        .timeLimit(.minutes(10)),
        arguments: Engine.hardened
    )
    func refused(engine: Engine) async throws {
        let server = try RawServer { _ in }
        server.stop()
        let start = ContinuousClock.now
        let outcome = await exchange(engine, server)
        #expect(outcome.code == .transport)
        if isSoak { #expect(ContinuousClock.now - start < .seconds(1)) }
    }

    @Test(
        "P49 redirects aren't followed and don't count as delivery",
        arguments: Engine.allCases,
        [HTTPRequest.Method.get, .post]
    )
    func redirects(engine: Engine, method: HTTPRequest.Method) async throws {
        let target = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        defer { target.stop() }
        let server = try RawServer { connection in
            guard let request = connection.readRequest() else { return }
            let parts = request.split(separator: " ")[1].split(separator: "/").map(String.init)
            let own = "http://127.0.0.1:\(connection.server.port)"
            let location =
                switch parts[1] {
                case "same-host": own + "/elsewhere"
                case "other-port": target.url + "/elsewhere"
                case "other-host": "http://localhost:\(target.port)/elsewhere"
                case "downgrade": "http://example.invalid/elsewhere"
                case "file": "file:///etc/passwd"
                default: own + "/\(parts[0])/\(parts[1])"
                }
            connection.send("HTTP/1.1 \(parts[0]) X\r\nLocation: \(location)\r\nContent-Length: 2\r\n\r\nno")
        }
        defer { server.stop() }
        var count = 0
        for code in [301, 302, 303, 307, 308] {
            for kind in ["same-host", "other-port", "other-host", "downgrade", "file", "loop"] {
                let outcome = await exchange(
                    engine,
                    server,
                    method,
                    path: "/\(code)/\(kind)",
                    headers: [.authorization: "Bearer canary", .cookie: "canary"],
                    body: "canary"
                )
                count += 1
                #expect(outcome.status == code, "\(kind)")
                #expect(DeliveryVerdict.of(status: code) == .outage(because: .answered(code)))
                #expect(server.received.count == count)
            }
        }
        #expect(target.received.isEmpty)
    }
}
