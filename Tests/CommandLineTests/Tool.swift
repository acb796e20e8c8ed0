import Foundation
import Synchronization

/// The built `xp`, run as a process.
struct Tool {
    /// What came of a run.
    struct Result: Sendable {
        var status: Int32
        var output: String
        var errors: String
        var lines: [String] { output.split(separator: "\n").map(String.init) }
        /// The first line of what was complained about.
        var complaint: String { errors.split(separator: "\n").first.map(String.init) ?? "" }
    }

    /// The package's root folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The executable, which is built beside the tests.
    static let executable: URL = {
        let places = [
            URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent(),
            Bundle.main.bundleURL, root.appending(path: ".build/debug"),
        ]
        let found = places.map { $0.appending(path: "xp") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return found ?? places[0].appending(path: "xp")
    }()

    /// Runs the tool to its end; after the limit it is killed, and the status is that of a kill.
    static func run(
        _ arguments: [String],
        input: String? = nil,
        environment: [String: String] = [:],
        limit: Double = 60
    ) async throws -> Result {
        let running = try Running(arguments, input: input, environment: environment)
        return try await running.result(within: limit)
    }

    /// A folder for one test's files.
    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "xp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Writes a file into a folder and gives its path.
    static func file(_ text: String, _ name: String, in folder: URL) throws -> String {
        let url = folder.appending(path: name)
        try Data(text.utf8).write(to: url)
        return url.path
    }
}

/// A run that goes on.
final class Running: Sendable {
    private let process: Process
    private let output = Collected()
    private let errors = Collected()
    /// Held open for as long as the run may go on, where somebody asked for that.
    private let heldInput: FileHandle?
    private let ended = Mutex<(isOver: Bool, waiter: CheckedContinuation<Void, Never>?)>((false, nil))

    init(
        _ arguments: [String],
        executable: URL = Tool.executable,
        input: String? = nil,
        holdsInput: Bool = false,
        environment: [String: String] = [:]
    ) throws {
        process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (out, err) = (Pipe(), Pipe())
        process.standardOutput = out
        process.standardError = err
        output.collect(out.fileHandleForReading)
        errors.collect(err.fileHandleForReading)
        let pipe = Pipe()
        process.standardInput = input == nil && !holdsInput ? FileHandle.nullDevice : pipe
        heldInput = holdsInput ? pipe.fileHandleForWriting : nil
        process.terminationHandler = { [weak self] _ in
            let waiter = self?.ended.withLock { state in
                state.isOver = true
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
        try process.run()
        if let input {
            let handle = pipe.fileHandleForWriting
            Thread.detachNewThread {
                try? handle.write(contentsOf: Data(input.utf8))
                try? handle.close()
            }
        }
    }

    /// Waits for the first line of output.
    func firstLine(within limit: Double = 30) async throws -> String {
        let process = process
        let alarm = Task {
            try await Task.sleep(for: .seconds(limit))
            kill(process.processIdentifier, SIGKILL)
        }
        defer { alarm.cancel() }
        while true {
            let (text, isOver) = output.state
            if let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first {
                return String(line)
            }
            if isOver { break }
            await output.untilMore(than: text.utf8.count)
        }
        throw Missing(what: "a first line; standard error: \(errors.text)")
    }

    /// Asks it politely to end.
    func terminate() { process.terminate() }

    /// Waits for its end.
    func result(within limit: Double = 60) async throws -> Tool.Result {
        let process = process
        let alarm = Task {
            try await Task.sleep(for: .seconds(limit))
            kill(process.processIdentifier, SIGKILL)
        }
        await withCheckedContinuation { continuation in
            let isOver = ended.withLock { state in
                if !state.isOver { state.waiter = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
        alarm.cancel()
        await output.untilEnd()
        await errors.untilEnd()
        return Tool.Result(status: process.terminationStatus, output: output.text, errors: errors.text)
    }

    struct Missing: Error, CustomStringConvertible {
        let what: String
        var description: String { "there was never \(what)" }
    }
}

/// What a pipe brought.
private final class Collected: Sendable {
    private struct State {
        var data = Data()
        var isOver = false
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let kept = Mutex(State())

    func collect(_ handle: FileHandle) {
        Thread.detachNewThread {
            // What is there now: `read(upToCount:)` waits until it has that much.
            while true {
                let data = handle.availableData
                self.note(data)
                if data.isEmpty { return }
            }
        }
    }

    /// Adds what came; nothing means that nothing more will.
    private func note(_ data: Data) {
        let content = kept.withLock { state in
            state.data.append(data)
            state.isOver = data.isEmpty
            let (isOver, count) = (state.isOver, state.data.count)
            defer { state.waiters.removeAll { isOver || $0.count < count } }
            return state.waiters.filter { isOver || $0.count < count }.map(\.continuation)
        }
        for continuation in content { continuation.resume() }
    }

    var text: String { kept.withLock { String(decoding: $0.data, as: UTF8.self) } }
    var state: (text: String, isOver: Bool) { kept.withLock { (String(decoding: $0.data, as: UTF8.self), $0.isOver) } }

    /// Waits until there are more bytes than so many, or no more will come.
    func untilMore(than count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = kept.withLock { state in
                if state.isOver || state.data.count > count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func untilEnd() async { await untilMore(than: .max - 1) }
}
