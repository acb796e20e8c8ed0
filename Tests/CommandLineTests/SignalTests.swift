import Foundation
import GRDB
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A pipe with a name, whose other end stays open until it is let go of.
private final class OpenPipe {
    let path: String
    private var handle: FileHandle?

    init(in folder: URL) throws {
        path = folder.appending(path: "pipe").path
        // A reader that has ended is no reason for the tests to end.
        signal(SIGPIPE, SIG_IGN)
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

    /// Writes more lines.
    func add(_ lines: [String]) throws {
        try handle?.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// Waits until everything that was written has been read.
    func untilItIsEmpty(within limit: Double = 30) async throws {
        let end = Date().addingTimeInterval(limit)
        while let handle, Date() < end {
            var count: Int32 = 0
            // How many bytes nobody has read yet.
            if ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0, count == 0 { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Running.Missing(what: "a reader of the pipe")
    }

    /// Waits until its reader has something in its hands and doesn't read on.
    func untilItIsLeftAlone() async throws {
        try await untilItIsEmpty()
        try add(["{}"])
        var quiet = 0
        for _ in 0..<1_000 where quiet < 25 {
            try await Task.sleep(for: .milliseconds(20))
            guard let handle else { return }
            var count: Int32 = 0
            guard ioctl(handle.fileDescriptor, UInt(FIONREAD), &count) == 0, count > 0 else {
                // It was read with what came before.
                quiet = 0
                try add(["{}"])
                continue
            }
            quiet += 1
        }
    }

    deinit { try? handle?.close() }
}

/// Another connection to a store, in whose way nobody can write.
private final class Lock {
    private let database: DatabaseQueue

    init(_ store: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        database = try DatabaseQueue(path: store, configuration: configuration)
        try database.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
    }

    func release() throws {
        try database.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try database.close()
    }
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
        try await untilAccepted(30, store)
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

    private func untilAccepted(_ count: Double, _ store: String) async throws {
        for _ in 0..<200 {
            let status = try await Tool.run(["outbox", "status", "--store", store, "--format", "json"])
            if try JSONValue(status.output)["ledger"]?["accepted"]?.number ?? 0 >= count { return }
        }
        throw Running.Missing(what: "a store with \(count) events")
    }

    /// Fills a store with events that a vendor who says nothing doesn't take.
    private func filledStore(_ mock: ServedMock, _ silent: String, count: Int) async throws -> String {
        let store = mock.folder.appending(path: "outbox.db").path
        let lines = (0..<count).map {
            #"{"user":{"id":"u-\#($0 % 3)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        let input = try Tool.file(lines.joined(separator: "\n"), "events.jsonl", in: mock.folder)
        _ = try await Tool.run(["track", "--config", silent, "--store", store, "--input", input, "--deadline", "0"])
        return store
    }

    /// A configuration whose vendor takes connections and says nothing.
    private func silentConfiguration(_ mock: ServedMock, _ listener: Silence) throws -> String {
        try Tool.file(
            try String(contentsOfFile: mock.configuration(), encoding: .utf8)
                .replacingOccurrences(of: mock.url, with: "http://127.0.0.1:\(listener.port)"),
            "silent.json",
            in: mock.folder
        )
    }

    @Test("outbox flush, while the vendor hangs: everything is kept")
    func flush() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let silent = try silentConfiguration(mock, listener)
        let store = try await filledStore(mock, silent, count: 40)
        let again = try Silence()
        let running = try Running([
            "outbox", "flush", "--config", try silentConfiguration(mock, again), "--store", store,
        ])
        try await again.waitForCaller()
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(ledger?["pending"]?.number == 40)
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 40)
        _ = try await mock.end()
    }

    @Test("track, beside a store that somebody has locked meanwhile: what was accepted is kept, and it says what to do")
    func trackBesideALock() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running([
            "track", "--config", try silentConfiguration(mock, listener), "--store", store, "--input", pipe.path,
        ])
        let lines = (0..<400).map {
            #"{"user":{"id":"u-\#($0)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        try await pipe.write(Array(lines[..<30]))
        try await untilAccepted(30, store)
        let lock = try Lock(store)
        try pipe.add(Array(lines[30...]))
        try await pipe.untilItIsLeftAlone()
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 66)
        #expect(
            result?.complaint == "xp: interrupted after 30 lines, which are kept in \(store), which doesn't answer: "
                + "another process may keep it locked; \"xp outbox status --store \(store)\" gives its ledger later"
        )
        #expect(result?.errors.split(separator: "\n").count == 1)
        #expect(result?.output == "")
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 30)
        _ = try await mock.end()
    }

    @Test("track, asked nothing, beside a store that stays locked: reading stops, and what isn't kept is named")
    func lockedForLong() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let silent = try silentConfiguration(mock, listener)
        let running = try Running([
            "track", "--config", silent, "--store", store, "--input", pipe.path, "--deadline", "0",
        ])
        let lines = (0..<600).map {
            #"{"user":{"id":"u-\#($0 % 7)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        try await pipe.write(Array(lines[..<30]))
        try await untilAccepted(30, store)
        let lock = try Lock(store)
        try pipe.add(Array(lines[30...]))
        var result: Tool.Result?
        // One wait for the file, of five seconds, and not one for each line.
        let took = try await seconds { result = try await running.result(within: 60) }
        #expect(took < 25)
        #expect(result?.status == 66)
        let errors = try (result?.lines ?? []).map { try JSONValue($0) }.filter { $0["error"] != nil }
        let numbers = errors.compactMap { $0["line"]?.number }
        #expect(numbers.first == 31)
        #expect(numbers == (0..<errors.count).map { Double(31 + $0) })
        #expect(errors.allSatisfy { $0["error"]?["code"]?.string == "STORE" })
        #expect(
            result?.errors.split(separator: "\n").last.map(String.init)
                == "xp: \(store): another process keeps it locked. Reading stopped after line \(30 + errors.count): "
                + "track again the lines that have an error, and what comes after"
        )
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 30)
        _ = try await mock.end()
    }

    @Test(
        "track and outbox flush, beside a store that can't be opened because somebody keeps it locked",
        arguments: ["track", "flush"]
    )
    func lockedFromTheBeginning(command: String) async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let silent = try silentConfiguration(mock, listener)
        let store = try await filledStore(mock, silent, count: 5)
        let lock = try Lock(store)
        let words = command == "track" ? ["track", "--input", "/dev/null"] : ["outbox", "flush"]
        let running = try Running(words + ["--config", silent, "--store", store])
        try await running.untilItHasOpened(store)
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 66)
        let what = command == "track" ? "a line was read" : "anything was delivered"
        #expect(result?.complaint.hasPrefix("xp: interrupted before \(what): \(store), which doesn't answer") == true)
        #expect(result?.errors.split(separator: "\n").count == 1)
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 5)
        _ = try await mock.end()
    }

    @Test("track, when nobody reads what it writes")
    func trackIntoAFullPipe() async throws {
        let mock = try await ServedMock("flagship")
        // More errors than a pipe holds.
        let input = try Tool.file(String(repeating: "nonsense\n", count: 5_000), "events.jsonl", in: mock.folder)
        let store = mock.folder.appending(path: "outbox.db").path
        // Open at both ends, and read by nobody.
        let output = mock.folder.appending(path: "output").path
        guard mkfifo(output, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        let end = open(output, O_RDWR | O_CLOEXEC)
        defer { close(end) }
        let words = ["track", "--config", try mock.configuration(), "--store", store, "--input", input]
        let running = try Running(
            ["-c", #"out=$1; shift; exec "$@" > "$out""#, "sh", output, Tool.executable.path] + words,
            executable: URL(filePath: "/bin/sh")
        )
        try await untilItIsFull(end)
        running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await running.result(within: 20) }
        #expect(took < 5)
        #expect([66, 1].contains(result?.status), "\(result?.errors ?? "")")
        _ = try await mock.end()
    }

    private func untilItIsFull(_ pipe: Int32) async throws {
        let end = Date().addingTimeInterval(30)
        while Date() < end {
            var state = pollfd(fd: pipe, events: Int16(POLLOUT), revents: 0)
            if poll(&state, 1, 0) == 0 { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Running.Missing(what: "a full pipe")
    }

    @Test("outbox export and outbox status, while somebody keeps the store locked", arguments: ["export", "status"])
    func looking(command: String) async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = try await filledStore(mock, silentConfiguration(mock, listener), count: 5)
        let lock = try Lock(store)
        let running = try Running(["outbox", command, "--store", store])
        try await running.untilItHasOpened(store)
        running.terminate()
        let took = try await seconds { _ = try await running.result(within: 20) }
        #expect(took < 5)
        try lock.release()
        _ = try await mock.end()
    }

    @Test("mock, while a client waits for an answer that doesn't come")
    func mock() async throws {
        let mock = try await ServedMock("flagship")
        let script = #"[{"times": null, "fault": {"kind": "stall"}}]"#
        var request = URLRequest(url: try #require(URL(string: mock.url + "/_mock/script")))
        request.httpMethod = "POST"
        request.httpBody = Data(script.utf8)
        let (_, answer) = try await URLSession.shared.data(for: request)
        #expect((answer as? HTTPURLResponse).map { $0.statusCode / 100 } == 2)
        let client = try Running(
            ["evaluate", "--config", try mock.configuration()],
            input: #"{"user":{"id":"u","consent":true}}"#
        )
        let requests = try #require(URL(string: mock.url + "/_mock/requests"))
        for _ in 0..<200 {
            if try await URLSession.shared.data(from: requests).0 != Data("[]".utf8) { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        mock.running.terminate()
        var result: Tool.Result?
        let took = try await seconds { result = try await mock.running.result(within: 20) }
        #expect(took < 5)
        #expect(result?.status == 0)
        client.terminate()
        _ = try await client.result(within: 20)
    }

    @Test("compare, in the middle of its rounds: no half report is left")
    func compare() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let running = try Running(["compare", "--rounds", "1000", "--output", folder.appending(path: "r.md").path])
        try await running.untilItHasThreads(6)
        running.terminate()
        let took = try await seconds { _ = try await running.result(within: 20) }
        #expect(took < 5)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
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
