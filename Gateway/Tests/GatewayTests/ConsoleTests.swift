import Experimentation
import Foundation
import GatewayWaiting
import Testing

@testable import GatewayServer

/// The page for people, in a browser without a window.
@Suite("The console in a browser")
struct ConsoleTests {
    private static let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Opens a page, waits for its script's requests, and returns the resulting document; on a thread that may wait.
    private static func document(at url: String) async throws -> String {
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("console-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: profile) }
        return try await ownThread {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: browser ?? "")
            process.arguments = [
                "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(profile.path)",
                // The page's own time, which advances only once an answer is there.
                "--virtual-time-budget=5000", "--dump-dom", url,
            ]
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            let data = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self)
        }
    }

    @Test(
        "shows tenants, their vendors and requests to an operator, and nothing to others",
        .enabled(if: browser != nil, "Chromium isn't installed")
    )
    func shows() async throws {
        let (own, other) = try await Served.run { served in
            _ = try await served.wire.post(
                "/ofrep/v1/evaluate/flags/text",
                #"{"context":{"targetingKey":"ada"}}"#
            )
            let page = "http://127.0.0.1:\(served.wire.port)/console#token="
            return (try await Self.document(at: page + "0perator"), try await Self.document(at: page + "t0ken"))
        }
        #expect(own.contains("requests a second"), "\(own.suffix(2_000))")
        #expect(own.contains("<td>evaluate</td>"))
        #expect(own.contains("shop"))
        #expect(other.contains("This isn’t an operator’s token"))
        #expect(!other.contains("<td>evaluate</td>"))
    }
}
