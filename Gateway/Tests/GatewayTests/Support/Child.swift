import Foundation
import GatewayWaiting
import Synchronization

/// The program itself, as a process that a test may kill.
final class Child: Sendable {
    private let process: Mutex<Process>
    /// The first line that it wrote to standard output.
    let head: String
    private let messages = FileManager.default.temporaryDirectory.appendingPathComponent(
        "child-\(UUID().uuidString).log"
    )

    /// What it has written to standard error.
    var errors: String { (try? String(contentsOf: messages, encoding: .utf8)) ?? "" }

    /// Starts the program and waits for its first line, on a thread of its own.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - variables: Its environment in addition to this process's.
    ///   - starting: Called with the process's id before that line is read.
    /// - Throws: An error if it can't be started.
    init(
        _ arguments: [String],
        variables: [String: String] = [:],
        starting: @escaping @Sendable (_ id: Int32) throws -> Void = { _ in }
    ) async throws {
        let (program, messages) = (Self.program, messages)
        let (process, head) = try await ownThread {
            let (process, output) = (Process(), Pipe())
            process.executableURL = program
            process.arguments = arguments
            process.environment = Self.environment.merging(variables) { $1 }
            process.standardOutput = output
            _ = FileManager.default.createFile(atPath: messages.path, contents: nil)
            process.standardError = try FileHandle(forWritingTo: messages)
            try process.run()
            try starting(process.processIdentifier)
            var line = Data()
            while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
                line += byte
            }
            return (Sent(process), String(decoding: line, as: UTF8.self))
        }
        self.process = Mutex(process.value)
        self.head = head
    }

    /// This process's environment without the program's path; the program doesn't drain, because no balancer asks it.
    private static var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment
        environment["XP_GATEWAY_PROGRAM"] = nil
        environment["XP_GATEWAY_SHUTDOWN_DRAIN_SECONDS"] = "0"
        return environment
    }

    /// The one that `XP_GATEWAY_PROGRAM` names, such as one built for release, or else the one beside the tests.
    private static let program =
        ProcessInfo.processInfo.environment["XP_GATEWAY_PROGRAM"].map { URL(fileURLWithPath: $0) }
        ?? Bundle.main.executableURL?.deletingLastPathComponent()
        .appendingPathComponent("xp-gateway") ?? URL(fileURLWithPath: "xp-gateway")

    /// A test that failed halfway leaves no running process behind.
    deinit {
        process.withLock { if $0.isRunning { Foundation.kill($0.processIdentifier, SIGKILL) } }
        try? FileManager.default.removeItem(at: messages)
    }

    /// Kills the process.
    func kill() async throws {
        try await ownThread {
            self.process.withLock { process in
                Foundation.kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
        }
    }

    /// Asks the process to read its configuration again.
    func hangUp() { process.withLock { _ = Foundation.kill($0.processIdentifier, SIGHUP) } }

    /// Asks the process to end, and returns its status.
    func end() async throws -> Int32 {
        try await ownThread {
            self.process.withLock { process in
                process.terminate()
                process.waitUntilExit()
                return process.terminationStatus
            }
        }
    }
}

/// A process on its way from the thread that started it.
private struct Sent: @unchecked Sendable {
    let value: Process

    init(_ value: Process) { self.value = value }
}
