import Foundation
import Testing

/// Tests wait for events, never for a time or without an end; those of the gateway too.
@Suite("Sleeps", .readsThePackage)
struct SleepTests {
    /// Files that may wait by the machine's clock, and why.
    static let except: [String: String] = [
        "Tests/LayoutTests/SleepTests.swift": "sleeps are what it looks for",
        "Tests/Waiting/Eventually.swift": "all others wait with this",
        "Gateway/Tests/Waiting/Eventually.swift": "the gateway's tests wait with this",
        "Tests/AdapterKitTests/Hostile/DeadlineTests.swift": "a server that drips, on a thread of its own",
    ]

    /// Whether a line sleeps by the machine's clock, whatever the clock is called.
    private func sleeps(_ line: Substring) -> Bool {
        line.contains(/\b(Task|Thread)\.sleep\b|\bnanosleep\(|(^\s*|[={(]\s*|try |await )u?sleep\(/)
    }

    /// Whether a line blocks a thread of the cooperative pool.
    private func blocks(_ line: Substring) -> Bool {
        line.contains(/\bDispatchSemaphore\b|\bDispatchGroup\b|\bwaitUntilExit\(|\bNSCondition\b/)
    }

    /// Whether a line loops without a limit until a condition is true.
    private func isEndless(_ line: Substring) -> Bool {
        line.contains(/^\s*while [^{]*\{ *(((try )?await )?(Task\.yield\(\))?) *\}\s*$/)
            || line.contains(/^\s*while (try )?await [^,{]*\{/) || line.contains(/^\s*while [^,{]*\.value\b[^,{]*\{/)
    }

    /// Returns the lines for which a condition is true, of the files with one of some words: most files have none, and
    /// regular expressions are slow without optimization.
    private func lines(
        with words: [String],
        but: [String] = [],
        where isSo: (Substring) -> Bool
    ) -> [String] {
        var lines: [String] = []
        for (path, text) in Tree.tests + Tree.gatewayTests where Self.except[path] == nil && !but.contains(path) {
            guard words.contains(where: text.contains) else { continue }
            lines += SwiftText.code(of: text).split(separator: "\n")
                .filter { line in words.contains(where: line.contains) && isSo(line) }
                .map { "\(path): \($0.trimmingCharacters(in: .whitespaces))" }
        }
        return lines
    }

    @Test("P72 no test sleeps: it waits with eventually, or with pause where the clock is the subject")
    func noTestSleeps() {
        #expect(lines(with: ["sleep"], where: sleeps) == [])
        #expect(Set(Self.except.keys).isSubset(of: (Tree.tests + Tree.gatewayTests).map(\.path)))
    }

    @Test("no test blocks a thread of the cooperative pool")
    func noTestBlocks() {
        // These block a thread of their own, in a function that can't suspend; the last one for as long as a command
        // to a database takes.
        let but = [
            "Tests/ExperimentationTests/Delivery/ConsentRaceTests.swift",
            "Tests/AdapterKitTests/Hostile/EngineThreadTests.swift",
            "Tests/ExperimentationTelemetryTests/Gate.swift", "Gateway/Tests/GatewayTests/ConsoleTests.swift",
            "Gateway/Tests/GatewayTests/RealClientTests.swift",
            "Gateway/Tests/GatewayTests/TransportSecurityTests.swift",
            "Gateway/Tests/GatewayTests/Support/Child.swift", "Gateway/Tests/PostgresServers/PostgresServer.swift",
            "Gateway/Tests/ExperimentationPostgresTests/HostsTests.swift",
        ]
        let words = ["Dispatch", "waitUntilExit", "NSCondition"]
        #expect(lines(with: words, but: but, where: blocks) == [])
    }

    @Test("no test loops without an end")
    func noEndlessLoops() {
        // Interrupted system calls are repeated, and a socket is read to its end.
        let but = [
            "Tests/ChildProcesses/ChildProcess.swift", "Tests/ChildProcesses/ChildPart.swift",
            "Tests/AdapterKitTests/Hostile/RawServer.swift", "Gateway/Tests/PostgresServers/PostgresServer.swift",
        ]
        #expect(lines(with: ["while "], but: but, where: isEndless) == [])
    }

    @Test(
        "the checks find a sleep, a block and an endless loop",
        arguments: [
            ("try await Task.sleep(for: length)", true), ("usleep(20)", true), ("  Thread.sleep(until: date)", true),
            ("let semaphore = DispatchSemaphore(value: 0)", true), ("while !isSo { await Task.yield() }", true),
            ("  while try await !client.flush() {}", true), ("while try await pending != 0 { await settle() }", true),
            ("while !isOver.value {", true), ("while await !isSo(), now < end {", false),
            ("try await time.sleep(for: .seconds(3))", false),
            ("for _ in 0..<3 { await Task.yield() }", false), ("while let line = next() { add(line) }", false),
        ]
    )
    func bites(line: String, isFound: Bool) {
        #expect([sleeps, blocks, isEndless].contains { $0(line[...]) } == isFound)
    }
}
