import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

@Suite("Hostile strings are stored as strings")
struct HostileTextTests {
    private let folder = TemporaryFolder()

    @Test("P60 hostile strings are stored unchanged")
    func hostileTexts() async throws {
        let store = try SQLiteStore(at: folder.file(), options: .init(limits: StoreLimits(maximumCount: 2_000)))
        let seeds = [
            "'", "\"", ";--", "'); DROP TABLE event; --", "%", "_", "\u{0}", "\u{1F600}", "e\u{301}", "é", "\u{202E}",
            "?", ":a",
        ]
        var dice = SplitMix(seed: 60)
        for number in 0..<500 {
            let text = (0..<Int.random(in: 1...6, using: &dice)).map { _ in seeds.randomElement(using: &dice) ?? "" }
                .joined()
            let id = "\(number)" + text
            try await store.append([.sample(id, user: text, .custom(text))])
            try await store.setValue(Array(text.utf8), for: id)
            let lease = try #require(try await store.take(1))
            let first = try #require(lease.events.first)
            #expect(Array(first.identity.id.utf8) == Array(text.utf8))
            #expect(first.event == .custom(text))
            #expect(try await store.value(for: id) == Array(text.utf8))
            try await store.settle(lease)
            // Each denial rewrites the file, so only every twentieth text has one.
            guard number.isMultiple(of: 20) else { continue }
            let denial = ConsentChange(userID: text, isGranted: false)
            let refused = NewEvent(.sample("refused", user: text), to: .home)
            #expect(try await store.setConsent([denial]) == ConsentOutcome())
            #expect(try await store.append([refused], now: noon).map { $0?.code } == [.consentDenied])
            _ = try await store.setConsent([ConsentChange(userID: text, isGranted: true)])
        }
        try await store.expectBalance(500)
    }

    @Test("P60 no statement is composed from values")
    func noInterpolation() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/ExperimentationSQLite")
        var found: [String] = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            #expect(!text.contains("publicStatementArguments"))
            found += Self.composed(text).map { "\(file): \($0)" }
        }
        // The only values that can't be bound: a pragma's value, which is a number, and the quoted name of a foreign
        // table.
        let exceptions = ["PRAGMA \\(name) = \\(value)", "SELECT * FROM \\(quoted) ORDER BY rowid"]
        #expect(
            found.count == 2 && exceptions.allSatisfy { known in found.contains { $0.contains(known) } },
            "\(found)"
        )
    }

    /// Returns the string literals that combine SQL with a value, or continue with `+`.
    private static func composed(_ source: String) -> [String] {
        // Multi-line or single-line literals, with a `+` after them.
        let texts = #/"{3}[\s\S]*?"{3}\s*\+?|"(?:\\\((?:[^()]|\([^()]*\))*\)|\\[^(]|[^"\\\n])*"\s*\+?/#
        let words =
            #/\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|WHERE|FROM|VALUES|SET|ORDER BY|LIMIT|CREATE|DROP|ALTER)\b/#
        return source.matches(of: texts).map { String($0.output) }.filter { text in
            text.contains(words) && (text.contains("\\(") || text.hasSuffix("+"))
        }
    }

    @Test(
        "P60 the search finds a composed statement on any of its lines",
        arguments: [
            (#"sql: "SELECT a FROM b WHERE c = \(value)""#, 1),
            (#"sql: "SELECT a FROM b WHERE c = '\(names["x"] ?? "")'""#, 1),
            ("sql: \"\"\"\n  SELECT a FROM b\n  WHERE c = ?\n  LIMIT \\(count)\n  \"\"\"", 1),
            ("sql: \"\"\"\n  SELECT a\n  FROM b\n  \"\"\" + tail", 1),
            (#"sql: "DELETE FROM b WHERE c = " + value"#, 1),
            (#"sql: "SELECT a FROM b WHERE c = ?", arguments: [value]"#, 0),
            ("sql: \"\"\"\n  SELECT a FROM b\n  WHERE c = ?\n  \"\"\"", 0),
            (#""\(path) is damaged." "SELECT a FROM b""#, 0),
        ]
    )
    func lintBites(source: String, count: Int) {
        #expect(Self.composed(source).count == count)
    }

}
