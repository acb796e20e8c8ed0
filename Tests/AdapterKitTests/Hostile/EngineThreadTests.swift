#if os(Linux)
    import Experimentation
    import Foundation
    import HTTPTypes
    import Testing
    import Waiting

    @testable import AdapterKit

    @Suite("The engine's thread")
    struct EngineThreadTests {
        private func server() throws -> RawServer {
            try RawServer { connection in
                while connection.readRequest() != nil {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                }
            }
        }

        private func get(_ transport: CurlTransport, _ server: RawServer) async throws -> Int {
            let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
            return try await transport.send(request, body: [], limits: HTTPLimits()).status
        }

        @Test("ends when idle and starts again with the next request, any number of times")
        func idle() async throws {
            let server = try server()
            defer { server.stop() }
            let transport = CurlTransport(configuration: .init(), idleTime: .milliseconds(5))
            #expect(!transport.driver.hasThread)
            for _ in 0..<20 {
                #expect(try await get(transport, server) == 200)
                try await eventually("the end of the thread") { !transport.driver.hasThread }
            }
            // Requests that arrive just as the thread ends are answered, too.
            for round in 0..<200 {
                #expect(try await get(transport, server) == 200)
                if round.isMultiple(of: 3) { try await pause(.microseconds(4_000 + 20 * round)) }
            }
            #expect(server.received.count == 220)
        }

        @Test("ends with the transport, idle or not", arguments: [false, true])
        func released(isIdle: Bool) async throws {
            let server = try server()
            defer { server.stop() }
            weak var driver: CurlDriver?
            do {
                let transport = CurlTransport(
                    configuration: .init(),
                    idleTime: isIdle ? .milliseconds(5) : .seconds(60)
                )
                driver = transport.driver
                #expect(try await get(transport, server) == 200)
                if isIdle { try await eventually("the end of the thread") { !transport.driver.hasThread } }
            }
            // The thread retains the driver until it ends.
            try await eventually("the end of the driver") { driver == nil }
        }

        @Test(
            "reads the certificate authorities once, not for each handshake",
            .enabled(
                if: TLSServer.isAvailable && CurlOptions.readsFileOnce,
                "needs openssl and libcurl 7.87"
            )
        )
        func authorities() async throws {
            let server = try await TLSServer.start("good")
            defer { server.stop() }
            let transport = CurlTransport(configuration: .init(certificateAuthorities: server.authority))
            var request = server.request
            request.method = .get
            let limits = HTTPLimits(deadline: .seconds(10))
            #expect(try await transport.send(request, body: [], limits: limits).status == 200)
            // The server closes each connection after its answer, so the next request needs a new handshake.
            try FileManager.default.removeItem(atPath: server.authority)
            #expect(try await transport.send(request, body: [], limits: limits).status == 200)
        }
    }
#endif
