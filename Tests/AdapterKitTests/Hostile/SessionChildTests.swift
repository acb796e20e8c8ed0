#if os(Linux)
    import AdapterKit
    import Experimentation
    import Foundation
    import Testing
    import Waiting

    @Suite("Foundation's session on Linux, in a child process", .serialized)
    struct SessionChildTests {
        /// What Foundation accepts and libcurl rejects; a further reason not to offer Foundation's session on Linux.
        private static let lenient: Set<String> = [
            "has ten thousand fields", "has two lengths", "has an impossible length",
        ]

        /// The outcome of an exchange.
        enum Ending: Sendable, Hashable, CustomStringConvertible {
            case error(String, seconds: Double)
            case answer(String)
            case death

            var description: String {
                switch self {
                case .error(let code, let seconds): "\(code) after \(seconds) s"
                case .answer(let text): text
                case .death: "the process ended"
                }
            }
        }

        private func play(scheme: String, port: Int) async throws -> Ending {
            guard let parts = try await HostilePart.session.play(scheme, "\(port)") else { return .death }
            if parts[0].hasPrefix("status") { return .answer(parts[0]) }
            return .error(parts[0], seconds: Double(parts[1]) ?? 0)
        }

        /// Every fifth row in a quick run, since each takes a process; all rows in a soak run.
        private static func some<Row>(_ rows: [Row]) -> [Row] {
            isSoak ? rows : rows.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)
        }

        @Test(
            "P10 Foundation's session never accepts a broken answer",
            arguments: some(BrokenAnswerTests.answers)
        )
        func broken(_ broken: BrokenAnswerTests.Broken) async throws {
            let server = try RawServer { connection in
                connection.readRequest()
                connection.send(broken.bytes)
                if broken.resets { connection.resetOnClose() }
            }
            defer { server.stop() }
            let ending = try await play(scheme: "http", port: server.port)
            print("session: \(broken.testDescription): \(ending)")
            guard case .answer(let text) = ending, !Self.lenient.contains(broken.testDescription) else { return }
            Issue.record("taken for \(text)")
        }

        @Test(
            "P35 a call ends by its deadline with Foundation's session, too",
            arguments: some(DeadlineTests.Delay.allCases)
        )
        func slow(_ delay: DeadlineTests.Delay) async throws {
            let server = try RawServer { delay.play($0) }
            defer { server.stop() }
            let ending = try await play(scheme: delay == .slowHandshake ? "https" : "http", port: server.port)
            print("session: \(delay): \(ending)")
            switch ending {
            case .error(let code, let seconds):
                #expect(code == "TIMEOUT")
                #expect(seconds < (isSoak ? 1.75 : 5))
            case .answer(let text): Issue.record("taken for \(text)")
            case .death: break
            }
        }

        @Test("P50 an answer over the limit is aborted with Foundation's session, too", arguments: [true, false])
        func endless(announced: Bool) async throws {
            let server = try RawServer { connection in
                connection.readRequest()
                let length = announced ? "Content-Length: 104857600\r\n" : "Connection: close\r\n"
                connection.send("HTTP/1.1 200 OK\r\n\(length)\r\n")
                let chunk = [UInt8](repeating: 120, count: 1 << 16)
                for _ in 0..<1600 where !connection.send(chunk) { return }
            }
            defer { server.stop() }
            let ending = try await play(scheme: "http", port: server.port)
            print("session: 100 MB, announced \(announced): \(ending), \(server.bytesSent >> 20) MB sent")
            if case .answer(let text) = ending { Issue.record("taken for \(text)") }
        }
    }

#endif
