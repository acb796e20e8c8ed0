import ChildProcesses
import Foundation

/// The example service of the guide, running in a process of its own.
final class PythonService: Sendable {
    /// Its endpoint.
    let url: String
    /// It ends with this process, however that ends: with it ends what the service reads.
    private let process: ChildProcess

    /// Where the example lies.
    private static let examples = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/examples").standardizedFileURL

    /// Starts an example and waits until it says where it listens.
    convenience init(_ name: String = "subject_service.py") async throws {
        try await self.init(running: [Self.examples.appending(path: name).path])
    }

    /// Starts the example SDK with something wrong on purpose.
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

    /// Ends it at once.
    func kill() { process.signal(SIGKILL) }
}
