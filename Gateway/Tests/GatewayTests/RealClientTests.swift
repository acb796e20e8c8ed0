import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import FlagManifest
import Foundation
import GatewayWaiting
import MockVendors
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
        let output = try await ownThread {
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
        return try JSON.parse(output)
    }

    @Test(
        "OpenFeature's Python client reads each type and gets the reason where it can't",
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

    /// The vendors that have flags, and the members of their settings that choose the way they decide.
    private static let vendors: [(name: String, settings: [String: FlagValue])] = [
        ("flagship", ["mode": "bucketing"]), ("flagship", [:]), ("sigma", [:]), ("ofrep", [:]),
    ]

    @Test(
        "OpenFeature's Python client reads each type from each vendor that has flags",
        .enabled(if: isInstalled, "make gateway-test installs the client"),
        arguments: vendors
    )
    func vendor(name: String, settings: [String: FlagValue]) async throws {
        let expected: [String: FlagValue] = [
            "boolean on": "True", "boolean off": "False", "integer seven": "7", "integer minus": "-3",
            "float half": "0.5", "float whole": "3.0", "string word": "'tea'", "string digits": "'42'",
            "string umlaut": "'Größe 🫖'", "object object": "{'a': 1, 'b': {'c': True}}",
            // A flag of another type, and a missing flag: the caller's defaults.
            "integer word": "-1", "boolean digits": "False", "string nothing": "'default'",
        ]
        let (vendor, _) = try await #require(Vendor.named(name)).mock(with: .everyType)
        let mock = MockServer(vendor)
        try await mock.start()
        var document = settings.merging(vendor.credentials.mapValues { .string($0) }) { $1 }
        document["vendor"] = .string(name)
        if name == "ofrep" {
            document.merge(mock.endpoints.mapValues { .string($0) }) { $1 }
        } else {
            document["endpoints"] = .object(mock.endpoints.mapValues { .string($0) })
        }
        var tenant = Served.tenant()
        tenant.vendor = .object(document)
        let answers = try await Served.run(over: try tenant.provider(variables: [:])) {
            // Where a vendor is asked for each user, a whole number doesn't tell whether fractions are possible.
            $0.tenants[0].types = ["whole": .float]
        } body: { served in
            try await Self.ask("http://127.0.0.1:\(served.wire.port)", expected.keys.sorted())
        }
        await mock.stop()
        let members = try #require(answers.objectValue)
        #expect(members.compactMapValues { $0.arrayValue?.first } == expected, "\(answers)")
        let failures = members.compactMapValues { $0.arrayValue?.last?.stringValue }
        #expect(
            failures == [
                "integer word": "TYPE_MISMATCH", "boolean digits": "TYPE_MISMATCH", "string nothing": "FLAG_NOT_FOUND",
            ]
        )
    }
}
