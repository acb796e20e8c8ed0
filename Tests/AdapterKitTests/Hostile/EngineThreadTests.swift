#if os(Linux)
    import Experimentation
    import Foundation
    import HTTPTypes
    import Synchronization
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
            #expect(transport.drivers.open.isEmpty)
            for _ in 0..<20 {
                #expect(try await get(transport, server) == 200)
                try await eventually("the end of the thread") { !transport.drivers.open[0].hasThread }
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
                #expect(try await get(transport, server) == 200)
                driver = transport.drivers.open.first
                if isIdle { try await eventually("the end of the thread") { driver?.hasThread == false } }
            }
            // The thread retains the driver until it ends.
            try await eventually("the end of the driver") { driver == nil }
        }

        @Test("has a second one beside it for more than four requests at once", arguments: [4, 12])
        func second(requests: Int) async throws {
            let gate = DispatchSemaphore(value: 0)
            let server = try RawServer { connection in
                while connection.readRequest() != nil {
                    gate.wait()
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                }
            }
            defer { server.stop() }
            let transport = CurlTransport()
            let statuses = try await withThrowingTaskGroup { group in
                for _ in 0..<requests { group.addTask { try await get(transport, server) } }
                defer { for _ in 0..<requests { gate.signal() } }
                try await eventually("all requests under way") { server.received.count == requests }
                #expect(transport.drivers.open.count(where: \.hasThread) == (requests > 4 ? 2 : 1))
                for _ in 0..<requests { gate.signal() }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: requests))
        }

        @Test("does the work of the second while that can't be created, and a request fails only if neither can be")
        func exhausted() async throws {
            let gate = DispatchSemaphore(value: 0)
            let server = try RawServer { connection in
                while connection.readRequest() != nil {
                    gate.wait()
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                }
            }
            defer { server.stop() }
            // The first driver and the second one have no descriptors when they are first needed.
            let made = Atomic(0)
            let transport = CurlTransport(
                CurlDrivers(CurlConfiguration()) { configuration in
                    let isStarved = [0, 2].contains(made.add(1, ordering: .relaxed).oldValue)
                    return isStarved
                        ? CurlDriver(configuration, idleTime: .seconds(60), poller: nil)
                        : CurlDriver(configuration, idleTime: .seconds(60))
                }
            )
            let error = await #expect(throws: ExperimentationError.self) { try await get(transport, server) }
            #expect(error?.code == .transport)
            for round in 1...2 {
                let statuses = try await withThrowingTaskGroup { group in
                    for count in 1...10 {
                        group.addTask { try await get(transport, server) }
                        let expected = (round - 1) * 10 + count
                        // One after another, so that the fifth alone needs a second driver that can't be made.
                        try await eventually("request \(expected)") { server.received.count == expected }
                    }
                    for _ in 0..<10 { gate.signal() }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: 10))
            }
            #expect(transport.drivers.open.count(where: \.hasThread) == 2)
            #expect(made.load(ordering: .relaxed) == 4)
        }

        @Test("ends its requests when they are cancelled, and so does the second thread")
        func cancelled() async throws {
            let server = try RawServer { connection in while connection.readRequest() != nil {} }
            defer { server.stop() }
            let transport = CurlTransport()
            let errors = await withTaskGroup { group in
                for _ in 0..<12 {
                    group.addTask {
                        do {
                            return "\(try await get(transport, server))"
                        } catch {
                            return (error as? ExperimentationError)?.code.rawValue ?? "\(error)"
                        }
                    }
                }
                try? await eventually("all requests under way") { server.received.count == 12 }
                group.cancelAll()
                return await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(errors == [ErrorCode.cancelled.rawValue])
            #expect(server.received.count == 12)
        }

        @Test("gets all calls up to the fourth, and half of more; few connections aren't divided")
        func shares() {
            var shares = CallShares(connections: 64)
            func begin(_ shares: inout CallShares, _ calls: Int) -> [Int] {
                (0..<calls).map { _ in
                    let index = shares.next
                    shares.begin(index)
                    return index
                }
            }
            #expect(begin(&shares, 9) == [0, 0, 0, 0, 1, 1, 1, 1, 0])
            for index in [0, 0, 1, 1, 1, 1] { shares.end(index) }
            #expect(begin(&shares, 2) == [0, 1])
            #expect(shares.counts == [4, 1])
            var few = CallShares(connections: 15)
            #expect(begin(&few, 9) == Array(repeating: 0, count: 9))
        }

        @Test("leaves the beginning to a caller only if no driver has another call")
        func alone() async {
            let drivers = CurlDrivers(CurlConfiguration()) { CurlDriver($0, idleTime: .seconds(1)) }
            let first = await drivers.with { _, isAlone in
                await drivers.with { _, isSecondAlone in [isAlone, isSecondAlone] }
            }
            let next = await drivers.with { _, isAlone in isAlone }
            #expect(first == [true, false])
            #expect(next == true)
        }

        @Test(
            "is woken for a transfer, except for that of a lone caller, who begins it; awake, it takes all",
            arguments: [
                (isAsleep: true, isAlone: true, wakes: Bool?.none), (true, false, true), (false, true, false),
                (false, false, false),
            ]
        )
        func submission(isAsleep: Bool, isAlone: Bool, wakes: Bool?) async throws {
            let submission = Mutex<CurlInbox.Submission?>(nil)
            _ = await withUnsafeContinuation { continuation in
                let exchange = CurlExchange(
                    ticket: CurlTicket(),
                    request: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1", path: "/"),
                    body: [],
                    limits: HTTPLimits(),
                    continuation: continuation
                )
                var inbox = CurlInbox(idleTime: .seconds(15))
                _ = inbox.enter()
                if isAsleep { _ = inbox.rest() }
                if let transfer = CurlTransfer(exchange) {
                    submission.withLock { $0 = inbox.submit(transfer, isAlone: isAlone) }
                }
                exchange.fail(CurlOutcome.released)
            }
            switch try #require(submission.withLock { $0 }) {
            case .left(let wakesThread): #expect(wakesThread == wakes)
            case .toBegin: #expect(wakes == nil)
            case .refused: Issue.record("A running engine refused a transfer.")
            }
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
