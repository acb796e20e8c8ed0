import ChildProcesses
import Foundation
import Waiting

/// The built `xp`, run as a process.
struct Tool {
    /// The result of a run.
    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
        var lines: [String] { output.split(separator: "\n").map(String.init) }
        /// The first line of standard error.
        var complaint: String { errors.split(separator: "\n").first.map(String.init) ?? "" }
    }

    /// The package's root folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The executable, built next to the tests.
    static let executable: URL = {
        let places = [
            URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent(),
            Bundle.main.bundleURL, root.appending(path: ".build/debug"),
        ]
        let found = places.map { $0.appending(path: "xp") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return found ?? places[0].appending(path: "xp")
    }()

    /// The packages that the build uses, in a folder above the executable.
    static let checkouts: URL = {
        let above = sequence(first: executable) { $0.deletingLastPathComponent() }.prefix(5)
        let found = above.map { $0.appending(path: "checkouts") }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        return found ?? root.appending(path: ".build/checkouts")
    }()

    /// Runs the tool to its end; after the limit it is killed, and the status is that of a kill.
    static func run(
        _ arguments: [String],
        input: String? = nil,
        environment: [String: String] = [:],
        limit: Double = 180
    ) async throws -> Result {
        let running = try Running(arguments, input: input, environment: environment)
        return try await running.result(within: limit)
    }

    /// Creates a folder for one test's files.
    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "xp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Writes a file into a folder and returns its path.
    static func file(_ text: String, _ name: String, in folder: URL) throws -> String {
        let url = folder.appending(path: name)
        try Data(text.utf8).write(to: url)
        return url.path
    }
}

/// A running tool.
final class Running: Sendable {
    private let process: ChildProcess

    init(
        _ arguments: [String],
        executable: URL = Tool.executable,
        input: String? = nil,
        holdsInput: Bool = false,
        environment: [String: String] = [:],
        folder: URL? = nil
    ) throws {
        let source: ChildProcess.Input = holdsInput ? .heldOpen : input.map { .text($0) } ?? .nothing
        process = try ChildProcess(executable, arguments, input: source, environment: environment, folder: folder)
    }

    /// Waits for the first line of output.
    func firstLine(within limit: Double = 180) async throws -> String {
        let alarm = killed(after: limit)
        defer { alarm.cancel() }
        if let line = await process.output.firstLine() { return line }
        throw Missing(what: "a first line; standard error: \(process.errors.text)")
    }

    /// Waits until it has a number of threads, as a sign that it is working.
    func untilItHasThreads(_ count: Int) async throws {
        try await eventually("a process with \(count) threads") {
            let threads = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/task")
            return threads?.count ?? count >= count
        }
    }

    /// Waits until it has opened a file.
    func untilItHasOpened(_ path: String) async throws {
        let folder = "/proc/\(process.id)/fd"
        guard FileManager.default.fileExists(atPath: "/proc/self/fd") else { return }
        try await eventually("a process that has opened \(path)") {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return files.contains {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
            }
        }
    }

    /// Returns its peak memory in megabytes after its end.
    func peakMemory() async throws -> Double {
        var most = 0.0
        while let text = try? String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        {
            most = max(most, line.split { !$0.isNumber }.first.flatMap { Double($0) } ?? 0)
            try await pause(.milliseconds(5))
        }
        return most / 1_024
    }

    /// Kills it with SIGKILL.
    func kill() { process.signal(SIGKILL) }

    /// Terminates it with SIGTERM.
    func terminate() { process.signal(SIGTERM) }

    /// Sends it a signal.
    func send(_ signal: Int32) { process.signal(signal) }

    /// Waits for its end.
    func result(within limit: Double = 180) async throws -> Tool.Result {
        let alarm = killed(after: limit)
        let status = await process.status()
        alarm.cancel()
        await process.output.untilEnd()
        await process.errors.untilEnd()
        return Tool.Result(status: status, output: process.output.text, errors: process.errors.text)
    }

    private func killed(after limit: Double) -> Task<Void, any Error> {
        Task { [process] in
            try await pause(.seconds(limit))
            process.signal(SIGKILL)
        }
    }

    struct Missing: Error, CustomStringConvertible {
        let what: String
        var description: String { "there was never \(what)" }
    }
}
