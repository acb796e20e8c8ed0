import AdapterKit
import Experimentation
import HTTPTypes
import Testing
import Waiting

@Suite("Regular exchanges")
struct ExchangeTests {
    @Test("sends what it is given and returns the answer", arguments: Engine.allCases)
    func plain(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 201 Created\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello")
        }
        defer { server.stop() }
        let outcome = await exchange(
            engine,
            server,
            .post,
            path: "/a%2Fb/c?x=1&y=%20",
            headers: [.contentType: "application/json", .authorization: "Bearer t"],
            body: #"{"a":1}"#
        )
        let reply = try outcome.get()
        #expect(reply.status == 201)
        #expect(reply.text == "hello")
        #expect(reply.response.headerFields[HTTPField.Name("x-a")!] == "1")
        let received = try #require(server.received.first)
        #expect(received.hasPrefix("POST /a%2Fb/c?x=1&y=%20 HTTP/1.1\r\n"))
        #expect(received.hasSuffix("\r\n\r\n{\"a\":1}"))
        let lines = received.lowercased()
        #expect(lines.contains("\r\nhost: 127.0.0.1:\(server.port)\r\n"))
        #expect(lines.contains("\r\ncontent-type: application/json\r\n"))
        #expect(lines.contains("\r\nauthorization: bearer t\r\n"))
        #expect(lines.contains("\r\ncontent-length: 7\r\n"))
        #expect(!lines.contains("expect:"))
        #expect(!lines.contains("cookie"))
        #expect(server.received.count == 1)
    }

    @Test("an error names the host and nothing else of the URL", arguments: Engine.allCases)
    func namesHost(engine: Engine) async throws {
        let server = try RawServer { $0.readRequest() }
        defer { server.stop() }
        let outcome = await exchange(engine, server, path: "/users/ada?key=canary")
        guard case .failure(let error) = outcome else { return #expect(Bool(false), "an answer came") }
        #expect(error.code == .transport)
        #expect(error.message.hasPrefix("127.0.0.1:\(server.port): "))
        #expect(!error.message.contains("ada") && !error.message.contains("canary"))
    }

    @Test(
        "every method is sent unchanged",
        arguments: Engine.allCases,
        [
            (HTTPRequest.Method.get, ""), (.head, ""), (.post, ""), (.post, "b"), (.put, "b"), (.patch, "b"),
            (.delete, ""), (.delete, "b"), (.options, ""),
        ]
    )
    func methods(engine: Engine, request: (method: HTTPRequest.Method, body: String)) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let outcome = await exchange(engine, server, request.method, body: request.body)
        #expect(outcome.status == 200)
        #expect(server.received.count == 1)
        #expect(server.received[0].hasPrefix("\(request.method.rawValue) /x HTTP/1.1\r\n"))
        #expect(server.received[0].hasSuffix("\r\n\r\n\(request.body)"))
    }

    @Test("consecutive requests share one connection", arguments: Engine.allCases)
    func keepAlive(engine: Engine) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                connection.send(
                    "HTTP/1.1 200 OK\r\nX-Connection: \(connection.descriptor)\r\nContent-Length: 2\r\n\r\nok"
                )
            }
        }
        defer { server.stop() }
        let transport = engine.make()
        var connections: Set<String?> = []
        for _ in 0..<5 {
            let request = HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
            let reply = try await transport.send(request, body: [1], limits: HTTPLimits(deadline: .seconds(60)))
            connections.insert(reply.response.headerFields[HTTPField.Name("x-connection")!])
        }
        #expect(connections.count == 1)
    }

    @Test("a compressed body is decompressed, and the header fields match", arguments: Engine.allCases)
    func compressed(engine: Engine) async throws {
        // gzip of "hello hello hello hello"
        let body: [UInt8] = [
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40,
            0x27, 0x01, 0xe3, 0x51, 0x3d, 0x8d, 0x17, 0x00, 0x00, 0x00,
        ]
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
            connection.send(body)
        }
        defer { server.stop() }
        let reply = try await exchange(engine, server).get()
        #expect(reply.text == "hello hello hello hello")
        #expect(reply.response.headerFields[.contentEncoding] == nil)
        #expect(reply.response.headerFields[.contentLength] == nil)
    }

    @Test("chunks are joined; an interim response is skipped", arguments: Engine.allCases)
    func chunked(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.send("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
        }
        defer { server.stop() }
        let reply = try await exchange(engine, server).get()
        #expect(reply.status == 200)
        #expect(reply.text == "abc")
        #expect(reply.response.headerFields[HTTPField.Name("x-early")!] == nil)
    }

    @Test(
        "P10 any status is a response, and only 2xx is a delivery, over the wire",
        arguments: Engine.allCases,
        [
            200, 201, 202, 203, 204, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 307, 308, 400, 401, 402, 403,
            404,
            405, 406, 407, 408, 409, 410, 412, 413, 415, 418, 421, 422, 425, 429, 431, 451, 500, 501, 502, 503, 504,
            511,
            599,
        ]
    )
    func statuses(engine: Engine, status: Int) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            let length = status == 204 || status == 304 ? "" : "Content-Length: 0\r\n"
            connection.send(
                "HTTP/1.1 \(status) X\r\nWWW-Authenticate: Basic realm=\"a\"\r\nProxy-Authenticate: Basic realm=\"b\"\r\n\(length)\r\n"
            )
        }
        defer { server.stop() }
        // Foundation on Linux never answers a Basic challenge.
        if status == 401, !Engine.hardened.contains(engine) { return }
        let outcome = await exchange(engine, server, .post, body: "b", limits: HTTPLimits(deadline: .seconds(60)))
        #expect(outcome.status == status)
        #expect((DeliveryVerdict.of(status: outcome.status ?? 0) == .delivered) == (200...299).contains(status))
        #expect(server.received.count == 1)
    }

    @Test("a cancelled task ends its exchange at once", arguments: Engine.hardened)
    func cancellation(engine: Engine) async throws {
        let server = try RawServer { connection in
            connection.readRequest()
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = engine.make()
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        let task = Task { () -> ErrorCode? in
            do throws(ExperimentationError) {
                _ = try await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(60)))
                return nil
            } catch { return error.code }
        }
        try await eventually("a request") { !server.received.isEmpty }
        let start = ContinuousClock.now
        task.cancel()
        #expect(await task.value == .cancelled)
        if isSoak { #expect(ContinuousClock.now - start < .seconds(1)) }
        // A task that was cancelled in advance doesn't start.
        let early = Task { () -> ErrorCode? in
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(ExperimentationError) {
                _ = try await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(60)))
                return nil
            } catch { return error.code }
        }
        #expect(await early.value == .cancelled)
    }
}
