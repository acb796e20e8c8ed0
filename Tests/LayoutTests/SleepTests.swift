import Foundation
import Testing

/// Tests wait for what happens, not for a while.
@Suite("Sleeps")
struct SleepTests {
    /// Where a wait by the machine's clock is the test's subject, and why.
    static let except: [String: String] = [
        "Tests/LayoutTests/SleepTests.swift": "sleeps are what it looks for",
        "Tests/ExperimentationSQLiteTests/Support/ChildParts.swift": "children live until they are killed",
        "Tests/ExperimentationSQLiteTests/TwoProcessTests.swift": "children live until they are killed",
        "Tests/ExperimentationSQLiteTests/CallerTests.swift": "a child holds the file until it is killed",
    ]

    /// How many milliseconds a line sleeps by the machine's clock, if it says so in figures.
    private func milliseconds(_ line: Substring) -> Double? {
        let line = String(line)
        func number(after text: String) -> Double? {
            guard let range = line.range(of: text) else { return nil }
            let digits = line[range.upperBound...].prefix { $0.isNumber || $0 == "." || $0 == "_" }
            return Double(digits.replacing("_", with: ""))
        }
        if let count = number(after: "Task.sleep(for: .seconds(") { return count * 1_000 }
        if let count = number(after: "Task.sleep(for: .milliseconds(") { return count }
        if let count = number(after: "Thread.sleep(forTimeInterval: ") { return count * 1_000 }
        if let count = number(after: "usleep(") { return count / 1_000 }
        return number(after: " sleep(").map { $0 * 1_000 }
    }

    @Test("P72 no test sleeps for more than fifty milliseconds")
    func noTestSleeps() {
        var found: [String] = []
        var seen = 0
        for source in Tree.files(in: "Tests") where Self.except[source.path] == nil {
            for line in source.text.split(separator: "\n") {
                guard let length = milliseconds(line) else { continue }
                seen += 1
                if length > 50 { found.append("\(source.path): \(line.trimmingCharacters(in: .whitespaces))") }
            }
        }
        #expect(found == [])
        #expect(seen > 0)
    }

    @Test("a sleep would be found")
    func bites() {
        #expect(milliseconds("try await Task.sleep(for: .seconds(2))") == 2_000)
        #expect(milliseconds("  try? await Task.sleep(for: .milliseconds(1_100))") == 1_100)
        #expect(milliseconds("Thread.sleep(forTimeInterval: 0.25)") == 250)
        #expect(milliseconds("try await time.sleep(for: .seconds(3))") == nil)
    }
}
