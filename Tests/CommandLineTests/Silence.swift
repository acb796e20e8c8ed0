import Foundation
import Waiting

/// A server that accepts connections but never answers.
final class Silence: Sendable {
    let port: Int
    private let listener: Int32

    init() throws {
        #if canImport(Glibc)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 128) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        port = Int(UInt16(bigEndian: address.sin_port))
        self.listener = listener
    }

    deinit { close(listener) }

    /// Waits for a connection attempt, without accepting it.
    func waitForCaller() async throws {
        try await eventually("a connection") {
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, 0) > 0
        }
    }
}

extension ServedMock {
    /// A configuration whose vendor accepts connections but never answers.
    func configuration(of silence: Silence) throws -> String {
        try Tool.file(
            try String(contentsOfFile: configuration(), encoding: .utf8)
                .replacingOccurrences(of: url, with: "http://127.0.0.1:\(silence.port)"),
            "silent.json",
            in: folder
        )
    }

    /// Fills a store with events for a vendor that never answers.
    func filledStore(_ silent: String, count: Int) async throws -> String {
        let store = folder.appending(path: "outbox.db").path
        let lines = (0..<count).map {
            #"{"user":{"id":"u-\#($0 % 3)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        let input = try Tool.file(lines.joined(separator: "\n"), "events.jsonl", in: folder)
        _ = try await Tool.run(["track", "--config", silent, "--store", store, "--input", input, "--deadline", "0"])
        return store
    }
}

extension Tool {
    /// Waits until a store has accepted a number of events.
    static func untilAccepted(_ count: Double, _ store: String) async throws {
        try await eventually("a store with \(count) events") {
            let status = try await run(["outbox", "status", "--store", store, "--format", "json"])
            // The store may not exist yet, or be incomplete.
            let accepted = try? JSONValue(status.output)["ledger"]?["accepted"]?.number
            return (accepted ?? 0) >= count
        }
    }

    /// Returns the duration of a closure in seconds.
    static func seconds(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return start.duration(to: .now) / .seconds(1)
    }
}
