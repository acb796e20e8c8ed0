import Foundation
import Testing

/// A vendor's real third-party client, at work with the mock of that vendor.
@Suite("third-party clients")
struct ThirdPartyClientTests {
    /// Where Python is: in the environment that `make clients` makes, else wherever the shell finds it.
    static let python: [String] = {
        let own = Tool.root.appending(path: ".build/python/bin/python3").path
        return FileManager.default.isExecutableFile(atPath: own) ? [own] : ["/usr/bin/env", "python3"]
    }()

    static let script = Tool.root.appending(path: "Conformance/Clients/pysilverpop_check.py").path

    static let hasPysilverpop = (try? run(["-c", "import silverpop.api"]).status) == 0

    @Test(
        "pysilverpop works with xp mock engage: recipients, tables, faults, events, and nobody without the secret",
        .enabled(if: hasPysilverpop, "pysilverpop 0.2.6 isn't installed; make clients installs it beside the build")
    )
    func pysilverpop() async throws {
        let mock = try await ServedMock("engage")
        let (status, text) = try Self.run([Self.script, mock.line])
        #expect(status == 0, "\(text)")
        _ = try await mock.end()
    }

    /// Runs Python to its end.
    private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: python[0])
        process.arguments = python.dropFirst() + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
