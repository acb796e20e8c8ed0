#if os(Linux)
    import AdapterKit
    import ChildProcesses
    import Experimentation
    import Foundation
    import HTTPTypes
    import Testing

    /// What this test program does in a process of its own, where nothing else runs beside it.
    enum HostilePart: String {
        /// Exchanges once through Foundation's session.
        case session
        /// Tells how much memory one exchange takes at its peak.
        case peak
        /// Tells how late exchanges end with a server that keeps them waiting.
        case lateness

        /// Starts the child and waits for its end.
        ///
        /// - Parameter words: What it needs to know; none of them holds a tab.
        /// - Returns: What it says, or nothing if it died before.
        /// - Throws: When it can't be started.
        func play(_ words: String...) async throws -> [String]? {
            let file = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            _ = await (try ChildPart.start(rawValue, [file.path] + words)).status()
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
            return text.split(separator: "\t").map(String.init)
        }
    }

    /// What this program does in a process of its own; each part is a function.
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
            // What is found out is on the disk before the engine's own threads may still end the process.
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

        /// Exchanges once through Foundation's session.
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

        /// Tells how much memory one exchange takes.
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
            // What the engine needs once isn't the body's.
            _ = await exchange("/small", limit: 0)
            // From here the system counts the peak anew.
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

        /// Tells how late exchanges end.
        func lateness(_ words: [String]) async throws -> [String] {
            let delay = try #require(DeadlineTests.Delay(rawValue: words[0]))
            let server = try RawServer { delay.play($0) }
            defer { server.stop() }
            let transport = CurlTransport()
            // The first call to https reads the system's certificates, which is slow on a busy machine.
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
