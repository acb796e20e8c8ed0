import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@Suite("Reports of the suite")
struct ReportTests {
    private static let exchange = Exchange(
        number: 1,
        purpose: .decisions,
        operation: "rules",
        method: "GET",
        path: "/rules?a=<b>",
        status: nil,
        fault: "reset",
        request: "GET <secret>"
    )

    private static func result(_ name: String, _ outcome: Outcome) -> CaseResult {
        CaseResult(
            name: name,
            promise: 1,
            summary: "Shows | & <this>",
            outcome: outcome,
            duration: .milliseconds(12),
            story: Story(steps: ["refresh ada"], exchanges: [exchange])
        )
    }

    private static let failure = Failure("expected \"a\", saw <b>", file: "Kit/Cases.swift", line: 7)
    private static let record = KnownDeviation("a/*", reason: "known", link: "https://example.com/1")

    private let report = ConformanceReport(
        subjects: [
            .init(
                name: "one",
                capabilities: [.flags],
                results: [
                    result("a/passed", .passed), result("a/failed", .failed([failure])),
                    result("a/unsupported", .unsupported("no such thing")),
                    result("a/deviates", .deviates(record, [failure])), result("a/broken", .outdated(record)),
                    result("a/undeclared", .undeclared(.holdouts)),
                ]
            )
        ]
    )

    @Test("the text has a line for each case, a reason for all that didn't pass, and the story of a failure")
    func text() {
        let lines = report.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "one: 1 passed, 1 failed, 1 broken, 1 undeclared, 1 deviates, 1 unsupported")
        #expect(lines.contains("  passed      a/passed"))
        #expect(lines.contains("  unsupported a/unsupported  no such thing"))
        #expect(lines.contains("  deviates    a/deviates     known (https://example.com/1)"))
        #expect(lines.contains("        1. GET /rules?a=<b> → no answer (reset)"))
        #expect(lines.last == "A promise is broken.")
    }

    @Test("the document has stable keys, and no timings unless requested")
    func document() throws {
        let document = report.document(timings: false)
        #expect(document.objectValue?["schema"] == "conformance-report/2")
        #expect(document.objectValue?["success"] == false)
        let subject = try #require(document.objectValue?["subjects"]?.arrayValue?.first?.objectValue)
        let cases = try #require(subject["cases"]?.arrayValue)
        #expect(
            cases.compactMap { $0.objectValue?["outcome"]?.stringValue } == [
                "passed", "failed", "unsupported", "deviates", "broken", "undeclared",
            ]
        )
        #expect(cases.allSatisfy { $0.objectValue?["milliseconds"] == nil })
        #expect(cases[3].objectValue?["link"] == "https://example.com/1")
        #expect(subject["counts"]?.objectValue?["passed"] == 1)
        #expect(try JSONDecoder().decode(FlagValue.self, from: Data(report.json(timings: false))) == document)
    }

    @Test("JUnit counts failures and skips, and escapes text")
    func junit() {
        let xml = report.junit()
        #expect(xml.contains("tests=\"6\" failures=\"3\" errors=\"0\" skipped=\"2\""))
        #expect(xml.contains("saw &lt;b&gt;"))
        #expect(!xml.contains("saw <b>"))
        #expect(xml.contains("<skipped message=\"unsupported: no such thing\"/>"))
    }

    @Test("Markdown has a column for each subject, and bars in cells don't break it")
    func markdown() {
        let text = report.markdown()
        #expect(text.contains("| Case | one |"))
        #expect(text.contains("Shows \\| & &lt;this> `a/failed` | ✘ |"))
        #expect(text.contains("- one, `a/deviates`: deviates: known (https://example.com/1)"))
    }

    @Test("text from a subject can neither forge a report's line nor control a terminal")
    func controls() {
        let said = "no\n  passed      a/forged\u{1B}[31m\u{0}\u{202E}|"
        let report = ConformanceReport(
            subjects: [
                .init(
                    name: said,
                    capabilities: [],
                    results: [
                        Self.result("a/failed", .failed([Failure(said, file: "f", line: 1)])),
                        Self.result("a/unsupported", .unsupported(said)),
                    ]
                )
            ]
        )
        let shown = "no   passed      a/forged\u{FFFD}[31m\u{FFFD}\u{FFFD}|"
        let lines = report.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "\(shown): 1 failed, 1 unsupported")
        #expect(lines.contains("  unsupported a/unsupported  \(shown)"))
        #expect(!lines.contains { $0.hasPrefix("  passed") })
        for text in [report.text(), report.markdown(), report.html(), report.junit()] {
            #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{0}" || $0 == "\u{202E}" })
        }
    }

    @Test("the HTML page is self-contained and escapes external text")
    func html() {
        let page = report.html()
        #expect(page.hasPrefix("<!DOCTYPE html>"))
        #expect(!page.contains("src=") && !page.contains("@import") && !page.contains("<script"))
        #expect(page.contains("Shows | &amp; &lt;this&gt;"))
        #expect(page.contains("/rules?a=&lt;b&gt;"))
        #expect(page.contains("prefers-color-scheme"))
    }

    @Test("two runs of the in-memory provider give the same document")
    func deterministic() async {
        let cases = ConformanceCase.all.filter { $0.promise != 15 && !$0.name.contains("stall") }
        // The cases' findings must be the same, on a busy machine as well.
        let runner = ConformanceRunner(limit: .seconds(300), width: 8)
        let one = await runner.run(cases, against: [InMemorySubject()])
        let other = await runner.run(cases, against: [InMemorySubject()])
        #expect(one.document(timings: false) == other.document(timings: false))
        #expect(one.isSuccess)
    }
}
