import Foundation
import Testing

/// A pipe with a name, whose other end stays open until it is let go of.
private final class OpenPipe {
    let path: String
    private var handle: FileHandle?

    init(in folder: URL) throws {
        path = folder.appending(path: "pipe").path
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Writes lines and keeps the pipe open, once somebody reads.
    func write(_ lines: [String]) async throws {
        let path = path
        handle = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let handle = FileHandle(forWritingAtPath: path)
                try? handle?.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
                continuation.resume(returning: handle)
            }
        }
    }

    deinit { try? handle?.close() }
}

@Suite("Asked to end, every command that runs for long ends within five seconds", .serialized)
struct SignalTests {
    private func seconds(_ body: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await body()
        return Double(start.duration(to: .now).components.seconds)
    }

    @Test("track, while its input is silent: what was read is delivered")
    func track() async throws {
        let mock = try await ServedMock("flagship")
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running([
            "track", "--config", try mock.configuration(), "--store", store, "--input", pipe.path,
        ])
        try await pipe.write(
            (0..<30).map {
                #"{"user":{"id":"u-\#($0 % 3)","consent":true},"event":{"type":"custom","name":"e\#($0)"}}"#
            }
        )
        // Accepted is what is in the store.
        var accepted = 0.0
        for _ in 0..<200 where accepted < 30 {
            let status = try await Tool.run(["outbox", "status", "--store", store, "--format", "json"])
            accepted = (try? JSONValue(status.output)["ledger"]?["accepted"]?.number) ?? 0
        }
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(ledger?["accepted"]?.number == 30)
        #expect(ledger?["delivered"]?.number == 30)
        #expect(ledger?["pending"]?.number == 0)
        _ = try await mock.end()
    }

    @Test("track, while the vendor hangs: everything is kept")
    func trackBesideSilence() async throws {
        let mock = try await ServedMock("flagship")
        // A listener that never answers.
        let listener = try Silence()
        let configuration = try Tool.file(
            try String(contentsOfFile: mock.configuration(), encoding: .utf8)
                .replacingOccurrences(of: mock.url, with: "http://127.0.0.1:\(listener.port)"),
            "silent.json",
            in: mock.folder
        )
        let store = mock.folder.appending(path: "outbox.db").path
        let lines = (0..<200).map { #"{"user":{"id":"u","consent":true},"event":{"type":"custom","name":"e\#($0)"}}"# }
        let input = try Tool.file(lines.joined(separator: "\n"), "events.jsonl", in: mock.folder)
        let running = try Running(["track", "--config", configuration, "--store", store, "--input", input])
        try await listener.waitForCaller()
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        // What it says at the end is what stands in the file.
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(ledger?["delivered"]?.number == 0)
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(Double(exported.lines.count) == ledger?["accepted"]?.number)
        _ = try await mock.end()
    }

    @Test("evaluate, in the middle of a stream: the answers given are whole")
    func evaluate() async throws {
        let mock = try await ServedMock("flagship")
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running(["evaluate", "--config", try mock.configuration(), "--input", pipe.path])
        try await pipe.write((0..<3).map { #"{"user":{"id":"u-\#($0)","consent":true}}"# })
        _ = try await running.firstLine()
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        for line in result?.lines ?? [] { #expect(throws: Never.self) { try JSONValue(line) } }
        _ = try await mock.end()
    }

    @Test("conform, in the middle of its cases")
    func conform() async throws {
        let running = try Running(["conform", "--vendor", "flagship"])
        try await running.untilItHasThreads(6)
        running.terminate()
        let took = try await seconds { _ = try await running.result(within: 20) }
        #expect(took < 5)
    }
}

/// A server that takes connections and says nothing.
private final class Silence: Sendable {
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

    /// Waits until somebody wants to connect; the connection is left to lie.
    func waitForCaller(within limit: Double = 30) async throws {
        let end = Date().addingTimeInterval(limit)
        while Date() < end {
            var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            if poll(&waiting, 1, 0) > 0 { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw Running.Missing(what: "a connection")
    }
}
