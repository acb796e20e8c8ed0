#if os(Linux)
    import AdapterKit
    import ChildProcesses
    import Experimentation
    import Foundation
    import HTTPTypes
    import Testing

    /// The parts that this test program plays in a child process, without other tests.
    enum HostilePart: String {
        /// One exchange through Foundation's session.
        case session
        /// Measures the peak memory of an exchange.
        case peak
        /// Measures how late exchanges with a slow server end.
        case lateness

        /// Starts the child and waits for its end.
        ///
        /// - Parameter words: The part's arguments; must not contain tabs.
        /// - Returns: Its results; `nil` if it crashed.
        /// - Throws: An error if it can't be started.
        func play(_ words: String...) async throws -> [String]? {
            let file = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            _ = await (try ChildPart.start(rawValue, [file.path] + words)).status()
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return text.split(separator: "\t").map(String.init)
        }
    }

    /// The entry point of child processes; each part is a function.
    @Suite("ChildParts")
    struct ChildParts {
        @Test("a child plays its part", .enabled(if: ChildPart.played != nil, "runs in a child alone"))
        func play() async throws {
            let played = try #require(ChildPart.played)
            let words = Array(played.words.dropFirst())
            let answer =
                switch try #require(HostilePart(rawValue: played.name)) {
                case .session: try await exchangesOnce(words)
                case .peak: try await peak(words)
                case .lateness: try await lateness(words)
                }
            // Written to disk before the engine's own threads can crash the process.
            try Data(answer.joined(separator: "\t").utf8).write(to: URL(filePath: played.words[0]), options: .atomic)
        }

        private func ending(_ body: () async throws -> HTTPReply) async -> String {
            do {
                let reply = try await body()
                return "status \(reply.status) with \(reply.body.count) bytes"
            } catch {
                return (error as? ExperimentationError)?.code.rawValue ?? "\(error)"
            }
        }

        /// Performs one exchange through Foundation's session.
        func exchangesOnce(_ words: [String]) async throws -> [String] {
            let request = HTTPRequest(
                method: .post,
                scheme: words[0],
                authority: "127.0.0.1:\(words[1])",
                path: "/x"
            )
            let limits = HTTPLimits(deadline: .milliseconds(1_500), responseBytes: 1 << 20)
            let start = ContinuousClock.now
            let outcome = await ending {
                try await SessionEngine(connectionsPerHost: 4).send(request, body: [1], limits: limits)
            }
            return [outcome, "\((ContinuousClock.now - start) / .seconds(1))"]
        }

        /// Measures the memory of an exchange.
        func peak(_ words: [String]) async throws -> [String] {
            let transport = CurlTransport()
            func exchange(_ path: String, limit: Int) async -> String {
                let authority = "127.0.0.1:\(words[0])"
                let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: path)
                return await ending {
                    let limits = HTTPLimits(deadline: .seconds(30), responseBytes: limit)
                    return try await transport.send(request, body: [], limits: limits)
                }
            }
            // Warms up what the engine allocates only once.
            _ = await exchange("/small", limit: 0)
            // Resets the system's peak.
            try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
            let before = try Self.kilobytes("VmRSS")
            let outcome = await exchange("/bomb", limit: Int(words[1]) ?? 0)
            return [outcome, "\(try Self.kilobytes("VmHWM") - before)"]
        }

        private static func kilobytes(_ name: String) throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
            return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) })
        }

        /// Measures how late exchanges end.
        func lateness(_ words: [String]) async throws -> [String] {
            let delay = try #require(DeadlineTests.Delay(rawValue: words[0]))
            let server = try RawServer { delay.play($0) }
            defer { server.stop() }
            let transport = CurlTransport()
            // The first https request reads the system's certificates, which is slow on a busy machine.
            _ = await ending {
                let limits = HTTPLimits(deadline: DeadlineTests.deadline)
                return try await transport.send(delay.request(server), body: [], limits: limits)
            }
            let results = await DeadlineTests.tenTimes(
                transport,
                delay.request(server),
                DeadlineTests.deadline
            )
            return results.flatMap { ["\($0.0?.rawValue ?? "none")", "\($0.1 / .milliseconds(1))"] }
        }
    }
#endif
