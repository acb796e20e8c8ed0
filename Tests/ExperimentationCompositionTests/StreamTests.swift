#if os(Linux)
    import Experimentation
    import ExperimentationTesting
    import Foundation
    import Testing
    import Waiting

    @testable import ExperimentationComposition

    /// Devices and pipes in place of a file, always through a link or a pipe in the test's own folder.
    @Suite("Events into a device or a pipe")
    struct StreamTests {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "streams-\(UUID().uuidString)")
        private let time = ManualTime()
        private var path: String { folder.appending(path: "events.jsonl").path }

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

        private var names: [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
        }

        private func makePipe() throws { try #require(mkfifo(path, 0o600) == 0) }

        /// Opens the pipe's other end; the pipe buffers what is written until it is read.
        private func reading() throws -> Int32 {
            let descriptor = open(path, O_RDONLY | O_NONBLOCK)
            try #require(descriptor >= 0)
            return descriptor
        }

        private func text(_ descriptor: Int32) -> String {
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 { all += buffer[..<count] }
            return String(decoding: all, as: UTF8.self)
        }

        private func file(
            patience: Int32 = 600_000,
            _ change: (inout FileConfiguration) -> Void = { _ in }
        ) -> LineFile {
            var configuration = FileConfiguration(path: path)
            change(&configuration)
            return LineFile(configuration, patience: patience)
        }

        private func lines(_ text: String) -> [UInt8] { Array("\(text)\n".utf8) }

        @Test("a pipe without a reader is an outage, at once; later events go to the next reader")
        func nobodyReads() async throws {
            try makePipe()
            let file = file()
            #expect(
                await file.append(lines("a"), at: time.now) == .failed(FileFailure(step: "opened", code: ENXIO))
            )
            #expect(FileFailure(step: "opened", code: ENXIO).verdict.isOutage)
            let reader = try reading()
            #expect(await file.append(lines("b"), at: time.now) == .written)
            #expect(text(reader) == "b\n")
            close(reader)
            // Without a reader, writing is an error, and no signal kills the process.
            #expect(
                await file.append(lines("c"), at: time.now) == .failed(FileFailure(step: "written", code: EPIPE))
            )
            #expect(
                await file.append(lines("d"), at: time.now) == .failed(FileFailure(step: "opened", code: ENXIO))
            )
        }

        @Test("a pipe is neither rotated nor truncated, however much passes through it")
        func notRotated() async throws {
            try makePipe()
            let file = file { $0.largest = 1_000 }
            let reader = try reading()
            for number in 0..<5 {
                let line = String(repeating: "\(number)", count: 900)
                #expect(await file.append(lines(line), at: time.now) == .written)
                time.advance(by: .seconds(86_400))
            }
            #expect(text(reader).split(separator: "\n").map(\.count) == [900, 900, 900, 900, 900])
            #expect(names == ["events.jsonl"])
            close(reader)
        }

        @Test("a reader that stops within a batch is an outage, and its torn line spoils no other")
        func slowReader() async throws {
            try makePipe()
            let file = file(patience: 1)
            let reader = try reading()
            let long = String(repeating: "x", count: 200_000)
            #expect(
                await file.append(lines(long), at: time.now) == .failed(FileFailure(step: "written", code: EAGAIN))
            )
            let torn = text(reader)
            #expect(!torn.isEmpty && torn.allSatisfy { $0 == "x" })
            #expect(await file.append(lines("whole"), at: time.now) == .written)
            #expect(text(reader) == "\nwhole\n")
            close(reader)
        }

        @Test("a batch larger than the pipe's buffer passes through while it is read")
        func largerThanThePipe() async throws {
            try makePipe()
            let file = file()
            let reader = try reading()
            let long = String(repeating: "x", count: 300_000)
            async let outcome = file.append(lines(long), at: time.now)
            var found = 0
            try await eventually("all of it") {
                found += text(reader).utf8.count
                return found == 300_001
            }
            #expect(await outcome == .written)
            close(reader)
        }

        @Test("a device behind a link accepts everything and remains a device", arguments: ["/dev/null", "/dev/full"])
        func device(target: String) async throws {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            let file = file { $0.largest = 1_000 }
            let expected: LineFile.Outcome =
                target == "/dev/null" ? .written : .failed(FileFailure(step: "written", code: ENOSPC))
            for _ in 0..<3 {
                let line = String(repeating: "x", count: 900)
                #expect(await file.append(lines(line), at: time.now) == expected)
                time.advance(by: .seconds(86_400))
            }
            #expect(names == ["events.jsonl"])
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
            var found = stat()
            #expect(stat(target, &found) == 0 && found.st_mode & S_IFMT == S_IFCHR)
        }

        @Test("the process's own output is never renamed, even behind links")
        func output() throws {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/stdout")
            #expect(FilePlace.isStream(path) && FilePlace.isStream("/dev/fd/1"))
            #expect(!FilePlace.isStream(folder.path) && !FilePlace.isStream(folder.appending(path: "none").path))
        }
    }

    extension Verdict {
        fileprivate var isOutage: Bool { if case .outage = self { true } else { false } }
    }
#endif
