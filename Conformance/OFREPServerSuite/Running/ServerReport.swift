import ConformanceKit
import Experimentation
import Foundation

/// The results of a run: every case with one server.
public struct ServerReport: Sendable, Hashable {
    /// The outcome of a case.
    public enum Outcome: Sendable, Hashable {
        /// The requirement is met.
        case passed
        /// It isn't met, for these reasons.
        case failed([String])
        /// The case doesn't apply, for this reason.
        case skipped(String)

        /// The outcome as a word.
        public var word: String {
            switch self {
            case .passed: "passed"
            case .failed: "failed"
            case .skipped: "skipped"
            }
        }
    }

    /// The result of a case.
    public struct Result: Sendable, Hashable {
        /// The case's name.
        public var name: String
        /// What the case verifies.
        public var summary: String
        /// The outcome.
        public var outcome: Outcome
        /// The duration.
        public var duration: Duration
        /// The exchanges, without tokens; empty unless it failed.
        public var exchanges: [String]

        /// Creates a result.
        public init(name: String, summary: String, outcome: Outcome, duration: Duration, exchanges: [String] = []) {
            self.name = name
            self.summary = summary
            self.outcome = outcome
            self.duration = duration
            self.exchanges = exchanges
        }

        /// Why it isn't `passed`; empty if it is.
        public var reasons: [String] {
            switch outcome {
            case .passed: []
            case .failed(let reasons): reasons
            case .skipped(let reason): [reason]
            }
        }
    }

    /// The server's name.
    public var server: String
    /// The results, in the order of the cases.
    public var results: [Result]

    /// Creates a report.
    public init(server: String, results: [Result]) {
        self.server = server
        self.results = results
    }

    /// Whether no case failed and at least one passed.
    public var isSuccess: Bool {
        failed.isEmpty && results.contains { $0.outcome == .passed }
    }

    /// The names of the cases that failed.
    public var failed: [String] { results.filter { $0.outcome.word == "failed" }.map(\.name) }

    private func count(_ word: String) -> Int { results.count { $0.outcome.word == word } }
}

extension ServerReport {
    /// The report as text: a line per case, and the exchanges of failed ones.
    public func text() -> String {
        let counts = ["passed", "failed", "skipped"].map { "\(count($0)) \($0)" }.joined(separator: ", ")
        var lines = ["\(server.onOneLine): \(counts)"]
        let width = results.map(\.name.count).max() ?? 0
        for result in results {
            let reasons = result.reasons.joined(separator: "; ").onOneLine
            let line = "  \(result.outcome.word.padded(to: 8)) \(result.name.padded(to: width))  \(reasons)"
            lines.append(line.trimmed)
            for exchange in result.exchanges { lines.append("      " + String(exchange.prefix(1_000)).onOneLine) }
        }
        lines += ["", verdict, ""]
        return lines.joined(separator: "\n")
    }

    private var verdict: String {
        guard failed.isEmpty else { return "The server breaks the protocol." }
        return isSuccess ? "The server speaks the protocol." : "Nothing could be tried."
    }

    /// The report as a document, described by `docs/schemas/ofrep-server-report.schema.json`.
    ///
    /// - Parameter timings: Whether to include the duration of each case.
    /// - Returns: The document.
    public func document(timings: Bool = true) -> FlagValue {
        let words = ["passed", "failed", "skipped"].map { ($0, FlagValue.int(count($0))) }
        return [
            "schema": "ofrep-server-report/1", "server": .string(server), "success": .bool(isSuccess),
            "counts": .object(Dictionary(uniqueKeysWithValues: words)),
            "cases": .array(
                results.map { result in
                    var members: [String: FlagValue] = [
                        "name": .string(result.name), "summary": .string(result.summary),
                        "outcome": .string(result.outcome.word),
                    ]
                    if !result.reasons.isEmpty { members["reasons"] = .array(result.reasons.map { .string($0) }) }
                    if !result.exchanges.isEmpty {
                        members["exchanges"] = .array(result.exchanges.map { .string($0) })
                    }
                    if timings { members["milliseconds"] = .double((result.milliseconds * 10).rounded() / 10) }
                    return .object(members)
                }
            ),
        ]
    }

    /// The report as JSON with sorted keys.
    public func json(timings: Bool = true) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document(timings: timings)))
    }

    /// The report as JUnit XML.
    public func junit() -> String {
        let name = server.escaped
        let counts =
            "tests=\"\(results.count)\" failures=\"\(count("failed"))\" errors=\"0\" skipped=\"\(count("skipped"))\""
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites name=\"ofrep-server\" \(counts)>",
            "  <testsuite name=\"\(name)\" \(counts)>",
        ]
        for result in results {
            let head =
                "    <testcase classname=\"\(name)\" name=\"\(result.name.escaped)\" time=\"\(result.milliseconds / 1_000)\""
            let reason = result.reasons.joined(separator: "; ").escaped
            switch result.outcome {
            case .passed: lines.append(head + "/>")
            case .skipped: lines.append(head + "><skipped message=\"\(reason)\"/></testcase>")
            case .failed:
                let story = result.exchanges.joined(separator: "\n").escaped
                lines += [
                    head + ">", "      <failure message=\"\(reason)\">", story, "      </failure>", "    </testcase>",
                ]
            }
        }
        return (lines + ["  </testsuite>", "</testsuites>", ""]).joined(separator: "\n")
    }
}

extension ServerReport.Result {
    fileprivate var milliseconds: Double { duration / .milliseconds(1) }
}
