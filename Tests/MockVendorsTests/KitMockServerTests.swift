import Foundation
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import MockVendors

@Suite("The mock server")
struct KitMockServerTests {
    /// Runs a closure with a server, then stops it.
    private func serving<Value>(_ body: (MockServer, RawClient) async throws -> Value) async throws -> Value {
        let server = MockServer(EchoVendor())
        try await server.start()
        let value = try await body(server, RawClient(port: server.port))
        await server.stop()
        return value
    }

    @Test("answers on one connection in order and records each exchange")
    func answersAndKeepsAJournal() async throws {
        try await serving { server, client in
            let answer = await client.send(
                "POST /events?a=1&b=%20 HTTP/1.1\r\nHost: x\r\nX-Odd: yes\r\nContent-Length: 2\r\n\r\nhi",
                "GET /flags HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            #expect(answer.body == #"{"count":2,"greeting":"hello","body":""}"#)
            let journal = server.journal
            #expect(journal.map(\.number) == [1, 2])
            #expect(journal.map(\.connection) == [1, 1])
            #expect(journal.map(\.operation) == ["events", "flags"])
            #expect(
                journal[0].request
                    == MockRequest(
                        method: "POST",
                        path: "/events",
                        query: "a=1&b=%20",
                        headers: [.init("Host", "x"), .init("X-Odd", "yes"), .init("Content-Length", "2")],
                        body: Array("hi".utf8)
                    )
            )
            #expect(journal[0].response == .json(#"{"count":1,"greeting":"hello","body":"hi"}"#))
            #expect(journal[0].bytesIn == 77)
            #expect(journal[1].bytesOut == answer.bytes.count)
            #expect(journal.allSatisfy { $0.fault == nil })
        }
    }

    @Test("limits its journal, and continues to count")
    func boundsItsJournal() async throws {
        try await serving { server, client in
            server.journalLimit = 8
            for number in 1...30 { _ = await client.get("/r\(number)") }
            #expect(server.journalCount == 30)
            #expect((8...10).contains(server.journal.count))
            #expect(server.forgottenEntries == 30 - server.journal.count)
            #expect(server.journal.last?.operation == "r30")
            #expect(server.journal(from: 28).map(\.operation) == ["r29", "r30"])
        }
    }

    @Test(
        "rejects requests under other host names than the machine's own, as from a page in a browser",
        arguments: [
            ("127.0.0.1", 200), ("127.9.9.9:80", 200), ("localhost", 200), ("LOCALHOST:8080", 200), ("[::1]:80", 200),
            ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403),
            ("127.0.0.256", 403),
            // Two hosts make an invalid request.
            ("evil.example\r\nHost: localhost", 400),
        ]
    )
    func ownNames(host: String, status: Int) async throws {
        try await serving { server, client in
            #expect(await client.send("GET /_mock/requests HTTP/1.1\r\nHost: \(host)\r\n\r\n").status == status)
            if !host.contains("\r") {
                // The vendor's own paths accept any host.
                #expect(await client.send("GET /flags HTTP/1.1\r\nHost: \(host)\r\n\r\n").status == 200)
            }
        }
    }

    @Test("no other socket gets its port, not even before stop learns that the listener is closed")
    func portIsKept() async throws {
        try await serving { server, _ in
            let listener = try #require(server.state.withLock { $0.running?.listener })
            try await listener.close()
            #expect(await Self.refusal(toBind: server.port) == EADDRINUSE)
            await server.stop()
            #expect(await Self.refusal(toBind: server.port) == EADDRINUSE)
        }
    }

    /// Binds another socket to a port, and returns the error's number; `nil` if the port was free.
    private static func refusal(toBind port: Int) async -> CInt? {
        do {
            let group = MultiThreadedEventLoopGroup.singleton
            try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: port).get().close()
            return nil
        } catch {
            return (error as? IOError)?.errnoCode ?? 0
        }
    }

    @Test("stops and returns on the same port, with its journal")
    func goesAwayAndComesBack() async throws {
        try await serving { server, client in
            _ = await client.get("/one")
            let port = server.port
            await server.stop()
            #expect(await client.get("/two").ending == .refused)
            try await server.start()
            #expect(server.port == port)
            #expect(await client.get("/three").status == 200)
            #expect(server.journal.map(\.operation) == ["one", "three"])
        }
    }

    @Test("reports which port is in use")
    func portInUse() async throws {
        try await serving { server, _ in
            let second = MockServer(EchoVendor(), port: server.port)
            await #expect(throws: MockServerError.portInUse(host: "127.0.0.1", port: server.port)) {
                try await second.start()
            }
        }
    }

    @Test("waits for requests without polling, and reports what arrived if they don't arrive")
    func waits() async throws {
        try await serving { server, client in
            async let seen = server.waitForRequests(count: 2, on: "b")
            _ = await client.get("/a")
            _ = await client.get("/b")
            _ = await client.get("/b")
            let numbers = try await seen.map(\.number)
            #expect(numbers == [2, 3])
            await #expect(
                throws: MockServerError.timedOut(seconds: 0.02, seen: ["a → 200", "b → 200", "b → 200"])
            ) {
                try await server.waitForRequests(count: 4, within: .milliseconds(20))
            }
        }
    }

    @Test("a cancelled wait ends")
    func cancelledWait() async throws {
        try await serving { server, _ in
            let task = Task { try await server.waitForRequests(count: 1, within: .seconds(60)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("closes the connection after an answer when the client asks for it")
    func closes() async throws {
        try await serving { server, client in
            let answer = await client.send(
                "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            #expect(answer.ending != .complete, "\(answer.text)")
            #expect(server.journal.count == 1)
        }
    }

    @Test("skips data after the last request of a connection, and answers that request")
    func followed() async throws {
        try await serving { server, client in
            let answer = await client.send(
                "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(server.journal.map(\.request.path) == ["/a"])
        }
    }

    @Test("sends no body for HEAD or with 204")
    func bodiless() async throws {
        try await serving { server, client in
            let head = await client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(head.body.isEmpty)
            #expect(head.head.contains("Content-Length: 40"))
            server.addFault(ScriptedFault(.status(204)))
            #expect(await client.get("/a").head == "HTTP/1.1 204 No Content\r\nContent-Type: text/plain; charset=utf-8")
        }
    }

    @Test(
        "rejects an invalid request and closes",
        arguments: [
            ("GARBAGE\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST /a HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415),
            ("GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 300) + "\r\n", 400),
        ]
    )
    func refuses(request: String, status: Int) async throws {
        #expect(try await refusal(of: request) == status)
    }

    @Test("rejects a body that is too large and closes")
    func refusesLargeBody() async throws {
        let head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n"
        #expect(try await refusal(of: head + String(repeating: "x", count: 40 << 20)) == 413)
    }

    /// The status of the answer to a request that leaves no trace, and after which the server still answers.
    private func refusal(of request: String) async throws -> Int {
        try await serving { server, client in
            let answer = await client.send(request)
            #expect(server.journal.isEmpty)
            #expect(await client.get("/still-there").status == 200)
            return answer.status
        }
    }
}
