import ChildProcesses
import Foundation

/// The example service of the guide, running in a process of its own.
final class PythonService: Sendable {
    /// Its endpoint.
    let url: String
    /// It ends with this process, however that ends: with it ends what the service reads.
    private let process: ChildProcess

    /// Where the example lies.
    static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/examples")
        .appending(path: "subject_service.py").standardizedFileURL

    /// Starts the service and waits until it says where it listens.
    init() async throws {
        process = try ChildProcess(URL(filePath: "/usr/bin/env"), ["python3", Self.script.path], input: .heldOpen)
        struct Greeting: Decodable { var url: String }
        let line = await process.output.firstLine() ?? ""
        url = try JSONDecoder().decode(Greeting.self, from: Data(line.utf8)).url
    }

    deinit { kill() }

    /// Ends it at once.
    func kill() { process.signal(SIGKILL) }
}
