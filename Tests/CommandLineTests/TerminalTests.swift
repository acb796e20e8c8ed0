import Foundation
import Testing

#if os(Linux)
    @Suite(
        "What a terminal gets",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"),
            "needs script, which has a terminal"
        )
    )
    struct TerminalTests {
        @Test(
            "colors and a progress line, unless TERM is dumb; NO_COLOR counts if it isn't empty",
            arguments: [
                (["TERM": "xterm", "NO_COLOR": ""], true, true), (["TERM": "xterm", "NO_COLOR": "1"], false, true),
                (["TERM": "dumb", "NO_COLOR": ""], false, false),
            ] as [([String: String], Bool, Bool)]
        )
        func escapes(environment: [String: String], isColored: Bool, showsProgress: Bool) async throws {
            let command = #"exec "$tool" compare --scenario login --vendor in-memory --without-timings"#
            let running = try Running(
                ["--quiet", "--return", "--command", command, "/dev/null"],
                executable: URL(filePath: "/usr/bin/script"),
                environment: environment.merging(["tool": Tool.executable.path]) { $1 }
            )
            let result = try await running.result()
            #expect(result.status == 0 && result.output.contains("in-memory"), "\(result.output)")
            #expect(result.output.contains(/\u{1B}\[[0-9;]*m/) == isColored, "\(result.output.debugDescription)")
            #expect(result.output.contains("\u{1B}[K") == showsProgress, "\(result.output.debugDescription)")
        }
    }
#endif
