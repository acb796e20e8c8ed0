#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationComposition
    import ExperimentationTesting
    import Foundation
    import Testing

    /// The parts that this program plays in a process of its own; each part is a function.
    @Suite("ChildParts")
    struct ChildParts {
        @Test("a child plays its part", .enabled(if: ChildPart.played != nil, "runs in a child alone"))
        func play() async throws {
            let part = try #require(ChildPart.played)
            let parts: [String: ([String]) async throws -> Void] = ["fills": fills, "unmounts": unmounts]
            let body = try #require(parts[part.name], "there is no part \(part.name)")
            try await body(part.words)
        }

        private func events(in file: URL) throws -> [String] {
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
            return try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
                let whole = try JSONDecoder().decode(FlagValue.self, from: Data(line.utf8))
                return whole.objectValue?["event"]?.objectValue?["name"]?.stringValue ?? "?"
            }
        }

        private func provider(_ path: String) -> FileProvider {
            var configuration = FileConfiguration(path: path)
            // The file's own time is the machine's, whatever time a test sets.
            configuration.period = .seconds(1_000_000_000)
            return FileProvider(configuration: configuration)
        }

        private func client(of file: FileProvider, _ other: Playing, _ time: ManualTime) async throws
            -> ExperimentationClient
        {
            try await ExperimentationClient(
                provider: ComposedProvider([.init(file), .init(other)]),
                environment: ClientEnvironment(time: time)
            )
        }

        /// Writes to a small disk until it is full, and continues when there is room again.
        func fills(_ words: [String]) async throws {
            let folder = URL(filePath: words[0])
            let ballast = folder.appending(path: "ballast").path
            #expect(FileManager.default.createFile(atPath: ballast, contents: Data(repeating: 1, count: 800_000)))
            let path = folder.appending(path: "events.jsonl")
            let (file, other, time) = (
                provider(path.path), Vendors.taking("other"), ManualTime()
            )
            let client = try await client(of: file, other, time)
            let session = client.session(for: User(id: "ada"))
            let text = FlagValue.string(String(repeating: "x", count: 2_000))
            for number in 0..<300 {
                try await session.track(.custom("\(number)", attributes: ["text": text]))
                if number == 49 { try await client.flush(retrying: false) }
            }
            try await client.flush(retrying: false)
            let full = try #require(try await client.ledgers()[file.destination])
            #expect(full.delivered >= 50 && full.pending > 0, "\(full)")
            #expect(full == Ledger(accepted: 300, delivered: full.delivered, pending: full.pending))
            // What didn't fit has left no part of itself.
            #expect(try events(in: path) == (0..<full.delivered).map { "\($0)" })
            #expect(try await client.ledgers()[other.destination] == Ledger(accepted: 300, delivered: 300))
            try FileManager.default.removeItem(atPath: ballast)
            for _ in 0..<4 {
                time.advance(by: .seconds(600))
                try await client.flush(retrying: false)
            }
            #expect(try await client.ledgers()[file.destination] == Ledger(accepted: 300, delivered: 300))
            #expect(try events(in: path) == (0..<300).map { "\($0)" })
            await client.shutdown()
        }

        /// Writes on a disk that is unmounted while the file is open.
        func unmounts(_ words: [String]) async throws {
            let path = URL(filePath: words[0]).appending(path: "events.jsonl")
            let (file, other, time) = (
                provider(path.path), Vendors.taking("other"), ManualTime()
            )
            let client = try await client(of: file, other, time)
            let session = client.session(for: User(id: "ada"))
            try await session.track(.custom("before"))
            try await client.flush(retrying: false)
            #expect(try events(in: path) == ["before"])
            #expect(await (try ChildProcess(URL(filePath: "/bin/umount"), ["-l", words[0]])).status() == 0)
            #expect(try events(in: path) == [])
            try await session.track(.custom("after"))
            try await client.flush(retrying: false)
            // Nothing is written to a file that no path leads to: a new file is begun at the path.
            #expect(try events(in: path) == ["after"])
            #expect(try await client.ledgers()[file.destination] == Ledger(accepted: 2, delivered: 2))
            await client.shutdown()
        }
    }

    @Suite("A file on a disk that is full or gone", .serialized)
    struct DiskTests {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)")
        private let time = ManualTime()

        /// How a process gets a disk of its own of 1 MB: not every user may mount one.
        private static func mounting() async -> [String]? {
            for flags in ["-rm", "-m"] {
                let script = #"mount -t tmpfs -o size=1m,mode=0700 tmpfs "$0" && exec "$@""#
                let words = ["/usr/bin/unshare", flags, "/bin/sh", "-c", script]
                let trial = try? ChildProcess(URL(filePath: words[0]), words.dropFirst() + ["/mnt", "/bin/true"])
                if await trial?.status() == 0 { return words }
            }
            return nil
        }

        @Test(
            "a full disk takes whole lines and keeps the rest waiting; an unmounted one gets no invisible lines",
            .enabled("this system doesn't allow mounting a small disk (unshare -rm)") { await mounting() != nil },
            arguments: ["fills", "unmounts"]
        )
        func mounted(part: String) async throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let starter = try #require(await Self.mounting()) + [folder.path]
            let child = try ChildPart.start(part, [folder.path], by: starter)
            let status = await child.status()
            for text in [child.output, child.errors] { await text.untilEnd() }
            #expect(status == 0, "\(child.output.text)\(child.errors.text)")
        }

        @Test("events wait while the folder of an open file is gone, and it isn't created on another disk")
        func vanished() async throws {
            let (disk, away) = (folder.appending(path: "disk"), folder.appending(path: "away"))
            let path = disk.appending(path: "events.jsonl").path
            let log = RecordingLog()
            var configuration = FileConfiguration(path: path)
            configuration.period = .seconds(1_000_000_000)
            let client = try await ExperimentationClient(
                provider: FileProvider(configuration: configuration),
                environment: ClientEnvironment(time: time, log: log)
            )
            let session = client.session(for: User(id: "ada"))
            try await session.track(.custom("before"))
            try await client.flush(retrying: false)
            try FileManager.default.moveItem(at: disk, to: away)
            try await session.track(.custom("meanwhile"))
            try await client.flush(retrying: false)
            #expect(try await client.ledger() == Ledger(accepted: 2, delivered: 1, pending: 1))
            #expect(!FileManager.default.fileExists(atPath: disk.path))
            let line = "the events' file can't be opened: No such file or directory"
            #expect(log.entries.contains { $0.message == line })
            try FileManager.default.moveItem(at: away, to: disk)
            time.advance(by: .seconds(600))
            try await client.flush(retrying: false)
            #expect(try await client.ledger() == Ledger(accepted: 2, delivered: 2))
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.split(separator: "\n").count == 2)
            await client.shutdown()
            try FileManager.default.removeItem(at: folder)
        }
    }
#endif
