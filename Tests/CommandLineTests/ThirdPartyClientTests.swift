import ChildProcesses
import Foundation
import Testing

/// Real third-party clients of the vendors against the mocks.
@Suite("Third-party clients")
struct ThirdPartyClientTests {
    /// Python from the environment of `make clients`, otherwise from the shell's path.
    static let python: [String] = {
        let own = Tool.root.appending(path: ".build/python/bin/python3").path
        return FileManager.default.isExecutableFile(atPath: own) ? [own] : ["/usr/bin/env", "python3"]
    }()

    private static func script(_ name: String) -> String {
        Tool.root.appending(path: "Conformance/Clients/\(name)").path
    }

    @Test(
        "pysilverpop works with xp mock engage: recipients, tables, faults, events, and nothing without the secret",
        .enabled("pysilverpop 0.2.6 isn't installed; make clients installs it beside the build") {
            try await run(["-c", "import silverpop.api"]).status == 0
        }
    )
    func pysilverpop() async throws {
        let mock = try await ServedMock("engage")
        let (status, text) = try await Self.run([Self.script("pysilverpop_check.py"), mock.line])
        #expect(status == 0, "\(text)")
        _ = try await mock.end()
    }

    @Test(
        "Flagship's own Python SDK works with xp mock flagship: flags, exposures, hits, signing in",
        .enabled("flagship 3.0.1 isn't installed; make clients installs it beside the build") {
            try await run(["-c", "import flagship.tracking_manager"]).status == 0
        },
        arguments: ["api", "bucketing"]
    )
    func flagship(mode: String) async throws {
        let mock = try await ServedMock("flagship")
        let (status, text) = try await Self.run([Self.script("flagship_check.py"), mock.line, mode])
        #expect(status == 0, "\(text)")
        _ = try await mock.end()
    }

    /// Runs Python to its end.
    private static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let process = try ChildProcess(URL(filePath: python[0]), python.dropFirst() + arguments)
        let status = await process.status()
        await process.output.untilEnd()
        await process.errors.untilEnd()
        return (status, process.output.text + process.errors.text)
    }
}
