import Foundation
import Testing
import Waiting

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Every long-running command ends within five seconds after a signal", .serialized)
struct SignalTests {
    @Test("track, with silent input: events read so far are delivered")
    func track() async throws {
        let mock = try await ServedMock("flagship")
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running([
            "track", "--config", try mock.configuration(), "--store", store, "--input", pipe.path,
        ])
        // Blank lines count, as in an editor.
        try await pipe.write(
            ["", " "]
                + (0..<30).map {
                    #"{"user":{"id":"u-\#($0 % 3)","consent":true},"event":{"type":"custom","name":"e\#($0)"}}"#
                }
        )
        // An event is accepted once it is in the store.
        try await Tool.untilAccepted(30, store)
        running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(result?.errors == "xp: interrupted after 30 lines, the last of them line 32 of the input\n")
        #expect(ledger?["accepted"]?.number == 30)
        #expect(ledger?["delivered"]?.number == 30)
        #expect(ledger?["pending"]?.number == 0)
        _ = try await mock.end()
    }

    @Test("track, with a vendor that hangs: everything is kept")
    func trackBesideSilence() async throws {
        let mock = try await ServedMock("flagship")
        // A server that never answers.
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
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        // The final output equals the ledger in the file.
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(ledger?["delivered"]?.number == 0)
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(Double(exported.lines.count) == ledger?["accepted"]?.number)
        _ = try await mock.end()
    }

    @Test("evaluate, in the middle of a stream: all written answers are complete")
    func evaluate() async throws {
        let mock = try await ServedMock("flagship")
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running(["evaluate", "--config", try mock.configuration(), "--input", pipe.path])
        try await pipe.write((0..<3).map { #"{"user":{"id":"u-\#($0)","consent":true}}"# })
        _ = try await running.firstLine()
        running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        for line in result?.lines ?? [] { #expect(throws: Never.self) { try JSONValue(line) } }
        _ = try await mock.end()
    }

    @Test("outbox flush, with a vendor that hangs: everything is kept")
    func flush() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let silent = try mock.configuration(of: listener)
        let store = try await mock.filledStore(silent, count: 40)
        let again = try Silence()
        let running = try Running([
            "outbox", "flush", "--config", try mock.configuration(of: again), "--store", store,
            // The signal ends it, however late it comes.
            "--deadline", "3600",
        ])
        try await again.waitForCaller()
        running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 0, "\(result?.errors ?? "")")
        let ledger = try JSONValue(result?.lines.last ?? "")["ledger"]
        #expect(ledger?["pending"]?.number == 40)
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 40)
        _ = try await mock.end()
    }

    @Test("track, when nothing reads its output")
    func trackIntoAFullPipe() async throws {
        let mock = try await ServedMock("flagship")
        // More errors than a pipe can buffer.
        let input = try Tool.file(String(repeating: "nonsense\n", count: 5_000), "events.jsonl", in: mock.folder)
        let store = mock.folder.appending(path: "outbox.db").path
        // Opened for both ends but never read.
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
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect([66, 1].contains(result?.status), "\(result?.errors ?? "")")
        _ = try await mock.end()
    }

    private func untilItIsFull(_ pipe: Int32) async throws {
        try await eventually("a full pipe") {
            var state = pollfd(fd: pipe, events: Int16(POLLOUT), revents: 0)
            return poll(&state, 1, 0) == 0
        }
    }

    @Test("mock, with a client that waits for an answer")
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
        try await eventually("a request") { try await URLSession.shared.data(from: requests).0 != Data("[]".utf8) }
        mock.running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await mock.running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 0)
        client.terminate()
        _ = try await client.result()
    }

    @Test("compare, between rounds: no partial report is left")
    func compare() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let running = try Running(["compare", "--rounds", "1000", "--output", folder.appending(path: "r.md").path])
        try await running.untilItHasThreads(6)
        running.terminate()
        let took = try await Tool.seconds { _ = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test("conform, between cases")
    func conform() async throws {
        let running = try Running(["conform", "--vendor", "flagship"])
        try await running.untilItHasThreads(6)
        running.terminate()
        let took = try await Tool.seconds { _ = try await running.result() }
        if isSoak { #expect(took < 5) }
    }

    @Test("a mock ends when its terminal is closed, unless it was started to survive that", arguments: [false, true])
    func hangUp(isIgnored: Bool) async throws {
        let trap = isIgnored ? "trap '' HUP; " : ""
        let running = try Running(
            ["-c", trap + #"exec "$@""#, "sh", Tool.executable.path, "mock", "sigma"],
            executable: URL(filePath: "/bin/sh")
        )
        let url = try #require(try JSONValue(await running.firstLine())["url"]?.string)
        running.send(SIGHUP)
        if isIgnored {
            let requests = try #require(URL(string: url + "/_mock/requests"))
            #expect(try await URLSession.shared.data(from: requests).0 == Data("[]".utf8))
            running.terminate()
        }
        #expect(try await running.result().status == 0)
    }
}
