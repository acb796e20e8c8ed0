import Foundation
import GRDB
import Testing
import Waiting

/// Another connection that locks a store against writes.
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

@Suite("With a store locked by another connection, every command ends soon and loses nothing", .serialized)
struct LockedStoreTests {
    @Test("track, with a store locked during the run: accepted events are kept, and the message says how to continue")
    func trackBesideALock() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let running = try Running([
            "track", "--config", try mock.configuration(of: listener), "--store", store, "--input", pipe.path,
        ])
        let lines = (0..<400).map {
            #"{"user":{"id":"u-\#($0)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        try await pipe.write(Array(lines[..<30]))
        try await Tool.untilAccepted(30, store)
        let lock = try Lock(store)
        try pipe.add(Array(lines[30...]))
        try await pipe.untilItIsLeftAlone()
        running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 66)
        let late =
            "xp: interrupted after 30 lines, which are kept in \(store), which doesn't answer: another process may keep it "
            + "locked; \"xp outbox status --store \(store)\" gives its ledger later\n"
        // On a busy machine, the wait for the lock may end first.
        let isOver =
            result?.errors.contains("xp: \(store): another process keeps it locked. Reading stopped after") == true
        #expect(result?.errors == late || isOver, "\(result?.errors ?? "")")
        #expect(isOver || result?.output == "")
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 30)
        _ = try await mock.end()
    }

    @Test("track, with a store that stays locked: reading stops, and the rest is named")
    func lockedForLong() async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = mock.folder.appending(path: "outbox.db").path
        let pipe = try OpenPipe(in: mock.folder)
        let silent = try mock.configuration(of: listener)
        let running = try Running([
            "track", "--config", silent, "--store", store, "--input", pipe.path, "--deadline", "0",
        ])
        let lines = (0..<600).map {
            #"{"user":{"id":"u-\#($0 % 7)","consent":true},"event":{"type":"screenView","name":"e\#($0)"}}"#
        }
        try await pipe.write(Array(lines[..<30]))
        try await Tool.untilAccepted(30, store)
        let lock = try Lock(store)
        try pipe.add(Array(lines[30...]))
        // A single wait of five seconds for the file: one per line would take most of an hour.
        let result = try await running.result(within: 120)
        #expect(result.status == 66)
        let errors = try result.lines.map { try JSONValue($0) }.filter { $0["error"] != nil }
        #expect(!errors.isEmpty)
        let numbers = errors.compactMap { $0["line"]?.number.map { Int($0) } }
        #expect(numbers == Array(31..<31 + errors.count))
        #expect(errors.allSatisfy { $0["error"]?["code"]?.string == "STORE" })
        let message = """
            xp: \(store): another process keeps it locked. Reading stopped after line \(30 + errors.count): \
            track again the lines that have an error, and what comes after
            """
        #expect(result.errors.split(separator: "\n").last.map(String.init) == message)
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 30)
        _ = try await mock.end()
    }

    @Test(
        "track and outbox flush, with a store that can't be opened because it is locked",
        arguments: ["track", "flush"]
    )
    func lockedFromTheBeginning(command: String) async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let silent = try mock.configuration(of: listener)
        let store = try await mock.filledStore(silent, count: 5)
        let lock = try Lock(store)
        let words = command == "track" ? ["track", "--input", "/dev/null"] : ["outbox", "flush"]
        let running = try Running(words + ["--config", silent, "--store", store])
        try await running.untilItHasOpened(store)
        running.terminate()
        var result: Tool.Result?
        let took = try await Tool.seconds { result = try await running.result() }
        if isSoak { #expect(took < 5) }
        #expect(result?.status == 66)
        let what = command == "track" ? "a line was read" : "anything was delivered"
        #expect(result?.complaint.hasPrefix("xp: interrupted before \(what): \(store), which doesn't answer") == true)
        #expect(result?.errors.split(separator: "\n").count == 1)
        try lock.release()
        let exported = try await Tool.run(["outbox", "export", "--store", store])
        #expect(exported.lines.count == 5)
        _ = try await mock.end()
    }

    @Test("outbox export and outbox status, with a locked store", arguments: ["export", "status"])
    func looking(command: String) async throws {
        let mock = try await ServedMock("flagship")
        let listener = try Silence()
        let store = try await mock.filledStore(mock.configuration(of: listener), count: 5)
        let lock = try Lock(store)
        let running = try Running(["outbox", command, "--store", store])
        try await running.untilItHasOpened(store)
        running.terminate()
        let took = try await Tool.seconds { _ = try await running.result() }
        if isSoak { #expect(took < 5) }
        try lock.release()
        _ = try await mock.end()
    }
}
