import ChildProcesses
import Foundation

/// The guide's example service in a child process.
final class PythonService: Sendable {
    /// Its endpoint.
    let url: String
    /// The child ends with this process, because its input closes.
    private let process: ChildProcess

    /// The folder of the examples.
    private static let examples = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/examples").standardizedFileURL

    /// Starts an example and waits until it reports its address.
    convenience init(_ name: String = "subject_service.py") async throws {
        try await self.init(running: [Self.examples.appending(path: name).path])
    }

    /// Starts the example SDK with a planted fault.
    convenience init(broken fault: String) async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "broken_sdk.py")
        try await self.init(running: [script.path, Self.examples.path, fault])
    }

    private init(running words: [String]) async throws {
        process = try ChildProcess(URL(filePath: "/usr/bin/env"), ["python3", "-B"] + words, input: .heldOpen)
        struct Greeting: Decodable { var url: String }
        let line = await process.output.firstLine() ?? ""
        url = try JSONDecoder().decode(Greeting.self, from: Data(line.utf8)).url
    }

    deinit { kill() }

    /// Kills it.
    func kill() { process.signal(SIGKILL) }
}
