import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import ExperimentationComposition

@Suite("Events in a file")
struct FileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "events-\(UUID().uuidString)")
    private let time = ManualTime()
    private var path: String { folder.appending(path: "events.jsonl").path }

    private func deliver(_ names: [String], with change: (inout FileConfiguration) -> Void = { _ in }) async throws
        -> DeliveryReport
    {
        var configuration = FileConfiguration(path: path)
        // The file's modification date is the machine's, so the period must not end between it and the test's time.
        configuration.period = .seconds(1_000_000_000)
        change(&configuration)
        let environment = ClientEnvironment(time: time)
        let roles = try await FileProvider(configuration: configuration).start(
            in: ProviderContext(environment: environment)
        )
        let events = names.map { name in
            Envelope(id: "id-\(name)", identity: Identity(id: "ada"), event: .custom(name), date: time.now)
        }
        let report = try #require(await roles.events?.deliver(events))
        await roles.stop(time.instant)
        return report
    }

    private func names(in file: String = "events.jsonl") throws -> [String] {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8).split(separator: "\n").map { line in
            try JSON.parse(String(line)).objectValue?["event"]?.objectValue?["name"]?.stringValue ?? "?"
        }
    }

    private var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    @Test("a batch is appended as lines in the format of xp track")
    func lines() async throws {
        #expect(try await deliver(["a", "b"]).verdicts(count: 2) == [.delivered, .delivered])
        _ = try await deliver(["c"])
        #expect(try names() == ["a", "b", "c"])
        let first = try String(contentsOf: folder.appending(path: "events.jsonl"), encoding: .utf8).prefix {
            $0 != "\n"
        }
        #expect(
            first
                == #"{"at":"2026-11-21T10:00:00.000Z","event":{"name":"a","type":"custom"},"id":"id-a","user":{"id":"ada"}}"#
        )
    }

    @Test("a line has the part of the application and its targets, as the event's envelope does")
    func surface() throws {
        let envelope = Envelope(
            id: "e-1",
            identity: Identity(id: "ada"),
            session: "s",
            surface: "home",
            campaignTargets: ["a", "b"],
            event: .custom("a"),
            date: time.now
        )
        let members = try EventForm.value(of: envelope).objectValue
        #expect(members?["session"] == "s" && members?["surface"] == "home")
        #expect(members?["campaignTargets"] == ["a", "b"])
    }

    @Test("a file that would exceed its size limit is rotated, and no event is in two files")
    func rotationBySize() async throws {
        for name in ["a", "b", "c"] {
            _ = try await deliver([name, String(repeating: name, count: 900)]) { $0.largest = 1_200 }
        }
        #expect(files.count == 3 && files.last == "events.jsonl")
        let all = try files.flatMap { file in try names(in: file) }
        #expect(all.map(\.first) == ["a", "a", "b", "b", "c", "c"])
    }

    @Test("a file is rotated when its period ends")
    func rotationByTime() async throws {
        let provider = FileProvider(configuration: FileConfiguration(path: path))
        let roles = try await provider.start(in: ProviderContext(environment: ClientEnvironment(time: time)))
        for name in ["a", "b", "c"] {
            let event = Envelope(id: name, identity: Identity(id: "ada"), event: .custom(name), date: time.now)
            _ = await roles.events?.deliver([event])
            time.advance(by: .seconds(name == "a" ? 60 : 86_400))
        }
        #expect(files.count == 2)
        #expect(try names(in: files[0]) == ["a", "b"])
        #expect(try names() == ["c"])
    }

    @Test("a line truncated by a crash is removed before the next one is written")
    func tornLine() async throws {
        _ = try await deliver(["a"])
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(#"{"at":"2026"#.utf8))
        try handle.close()
        _ = try await deliver(["b"])
        #expect(try names() == ["a", "b"])
    }

    @Test("a file that was removed is created again")
    func movedAway() async throws {
        let provider = FileProvider(configuration: FileConfiguration(path: path))
        let roles = try await provider.start(in: ProviderContext(environment: ClientEnvironment(time: time)))
        for name in ["a", "b"] {
            let event = Envelope(id: name, identity: Identity(id: "ada"), event: .custom(name), date: time.now)
            _ = await roles.events?.deliver([event])
            if name == "a" { try FileManager.default.moveItem(atPath: path, toPath: path + ".taken") }
        }
        #expect(try names() == ["b"])
        #expect(try names(in: "events.jsonl.taken") == ["a"])
    }

    @Test("a full disk is an outage: events wait, and the ledger says so")
    func fullDisk() async throws {
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        let log = RecordingLog()
        let client = try await ExperimentationClient(
            provider: FileProvider(configuration: FileConfiguration(path: path)),
            environment: ClientEnvironment(time: time, log: log)
        )
        try await client.session(for: User(id: "ada")).track(.custom("a"))
        #expect(try await client.flush(retrying: false) != .delivered)
        #expect(try await client.ledger() == Ledger(accepted: 1, pending: 1))
        #expect(log.entries.contains { $0.message == "the events' file can't be written: No space left on device" })
        try FileManager.default.removeItem(atPath: path)
        time.advance(by: .seconds(600))
        #expect(try await client.flush(retrying: false) == .delivered)
        #expect(try names() == ["a"])
    }

    @Test("a file behind a link is rotated at its real location, and the link stays")
    func link() async throws {
        let real = folder.appending(path: "real/shop.jsonl")
        try FileManager.default.createDirectory(
            at: real.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "real/shop.jsonl")
        for name in ["a", "b"] {
            _ = try await deliver([name, String(repeating: name, count: 900)]) { $0.largest = 1_200 }
        }
        #expect(files == ["events.jsonl", "real"])
        let behind = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "real").path).sorted()
        #expect(behind.count == 2 && behind.last == "shop.jsonl")
        #expect(try behind.map { try names(in: "real/\($0)").map(\.first) } == [["a", "a"], ["b", "b"]])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "real/shop.jsonl")
    }

    @Test("a folder in place of the file stops deliveries until it is removed; nothing is lost")
    func folderInPlace() async throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let verdict = try await deliver(["a"])[0]
        #expect(
            verdict == .stop(ExperimentationError(.configuration, "the events' file can't be opened: Is a directory"))
        )
    }

    @Test("invalid settings are rejected at the start", arguments: ["", "/tmp/"])
    func badPath(path: String) async {
        await #expect(throws: ExperimentationError.self) {
            _ = try await FileProvider(configuration: FileConfiguration(path: path)).start(in: ProviderContext())
        }
    }
}
