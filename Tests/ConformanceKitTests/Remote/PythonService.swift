import Foundation

/// The example service of the guide, running in a process of its own.
final class PythonService: Sendable {
    /// Its endpoint.
    let url: String
    private let processID: Int32
    /// Held open for as long as the service is to run; it ends with this process, however that ends.
    private let input: FileHandle

    /// Where the example lies.
    static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/examples")
        .appending(path: "subject_service.py").standardizedFileURL

    /// Starts the service and waits until it says where it listens.
    init() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", Self.script.path]
        let output = Pipe()
        process.standardOutput = output
        let input = Pipe()
        process.standardInput = input
        self.input = input.fileHandleForWriting
        try process.run()
        processID = process.processIdentifier
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        struct Greeting: Decodable { var url: String }
        url = try JSONDecoder().decode(Greeting.self, from: Data(line)).url
    }

    // Foundation starts processes with most signals blocked; this one can't be.
    deinit { kill() }

    /// Ends it at once.
    func kill() { Foundation.kill(processID, SIGKILL) }
}
