import AdapterKit
import Experimentation
import Foundation
import Testing

@testable import GatewayServer

@Suite("A real client")
struct RealClientTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let python = package.appendingPathComponent(".build/python/bin/python")
    private static let isInstalled = FileManager.default.isExecutableFile(atPath: python.path)

    /// Runs the check, on a thread of its own because it waits.
    private static func ask(_ url: String, _ questions: [String]) async throws -> FlagValue {
        let script = package.appendingPathComponent("Tests/Clients/ofrep_check.py").path
        let output = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let process = Process()
                        let (input, output) = (Pipe(), Pipe())
                        process.executableURL = python
                        process.arguments = [script, url, "t0ken"]
                        process.standardInput = input
                        process.standardOutput = output
                        try process.run()
                        try input.fileHandleForWriting.write(contentsOf: Data(questions.joined(separator: "\n").utf8))
                        try input.fileHandleForWriting.close()
                        let data = try output.fileHandleForReading.readToEnd() ?? Data()
                        process.waitUntilExit()
                        return data
                    }
                )
            }
        }
        return try JSON.parse(output)
    }

    @Test(
        "OpenFeature's Python client reads each type, and learns why it can't",
        .enabled(if: isInstalled, "make gateway-test installs the client")
    )
    func client() async throws {
        let expected: [String: FlagValue] = [
            "boolean bool": ["True", "STATIC", "on", nil], "string text": ["'green'", "STATIC", "on", nil],
            "integer whole": ["7", "STATIC", "on", nil], "float float": ["10.0", "STATIC", "on", nil],
            "float plan": ["10.0", "DEFAULT", "small", nil], "string a/b": ["'slash'", "STATIC", "on", nil],
            "string a b": ["'space'", "STATIC", "on", nil],
            "object object": ["{'a': [1, 2]}", "STATIC", "on", nil],
            "string none": ["'default'", "DEFAULT", "left", nil],
            "integer text": ["-1", "ERROR", nil, "TYPE_MISMATCH"],
            "string other": ["'default'", "ERROR", nil, "FLAG_NOT_FOUND"],
            "string nobody": ["'default'", "ERROR", nil, "TARGETING_KEY_MISSING"],
        ]
        let answers = try await Served.run { served in
            try await Self.ask("http://127.0.0.1:\(served.wire.port)", expected.keys.sorted())
        }
        #expect(answers == .object(expected))
    }
}
