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

    /// A run of every case that is about a subject, in which all are unsupported but some.
    private static func whole(
        _ subject: any ConformanceSubject,
        _ outcomes: [String: Outcome] = [:],
        deviations: [KnownDeviation] = [],
        skipping: Set<String> = []
    ) -> ConformanceReport.Subject {
        let names = ConformanceRunner.cases(ConformanceCase.every, for: subject).map(\.name)
        let results = names.filter { !skipping.contains($0) }.map { name in
            CaseResult(
                name: name,
                promise: 1,
                summary: "",
                outcome: outcomes[name] ?? .unsupported("there is none"),
                duration: .zero
            )
        }
        var report = ConformanceReport.Subject(subject, results: results)
        report.deviations = deviations
        report.skipped = names.filter(skipping.contains)
        return report
    }

    @Test(
        "a run of every case says how much is verified, and one that lacks a case doesn't",
        arguments: [InMemorySubject(), ComposedSubject.sigmaEvergage, MigratingSubject.all[0]]
            as [any ConformanceSubject]
    )
    func verified(_ subject: any ConformanceSubject) {
        let whole = Self.whole(subject, skipping: ["events/custom"])
        let declared = "declares \(whole.capabilities.count)"
        let lines = ConformanceReport(subjects: [whole]).text().split(separator: "\n").map(String.init)
        #expect(lines.contains("  \(declared), verified 0"), "\(lines.prefix(3))")
        var partial = whole
        partial.results.removeLast()
        let rest = ConformanceReport(subjects: [partial]).text().split(separator: "\n").map(String.init)
        #expect(rest.contains("  \(declared)"), "\(rest.prefix(3))")
    }

    @Test("every report lists the cases that were left out")
    func leftOut() throws {
        let report = ConformanceReport(
            subjects: [Self.whole(InMemorySubject(), skipping: ["events/custom", "events/review"])]
        )
        let text = "left out on request: events/custom, events/review"
        #expect(report.text().contains("\n  \(text)\n"))
        #expect(report.markdown().contains("\n  - \(text)\n"))
        #expect(report.html().contains("<li>\(text)</li>"))
        let skipped = #"name="events/review" time="0.0"><skipped message="left out on request"/></testcase>"#
        #expect(report.junit().contains(skipped))
        #expect(report.junit().contains("tests=\"\(ConformanceCase.all.count + report.subjects[0].unproven.count)\""))
        let subject = report.document().objectValue?["subjects"]?.arrayValue?.first?.objectValue
        #expect(subject?["skipped"] == ["events/custom", "events/review"])
    }

    @Test("a report of nothing but skipped cases claims no promise")
    func nothingRun() {
        var subject = Self.whole(InMemorySubject(), skipping: ["events/custom"])
        subject.results = []
        let report = ConformanceReport(subjects: [subject])
        #expect(report.isSuccess)
        #expect(report.text().hasPrefix("in-memory: no case was run\n"))
        #expect(report.text().hasSuffix("\nNo case was run.\n"))
        #expect(report.markdown().hasPrefix("# Conformance\n\nNo case was run.\n"))
        #expect(report.html().contains("<p>No case was run.</p>"))
    }

    @Test("a recorded deviation of a case that doesn't exist, or wasn't tried, breaks a whole run")
    func idleDeviations() {
        struct NoCapabilities: ConformanceSubject {
            var name: String { "idle" }
            var capabilities: Set<Capability> { [] }
            var wireFields: Set<Received.Field> { [] }
            func open(_ world: World) async throws -> any SubjectStage { InMemoryStage(world) }
        }
        let failure = Failure("lost", file: "a", line: 1)
        let real = KnownDeviation("events/*", reason: "some are lost")
        func report(_ name: String) -> ConformanceReport.Subject {
            Self.whole(
                NoCapabilities(),
                ["events/custom": .deviates(real, [failure])],
                deviations: [real, KnownDeviation(name, reason: "it was so")],
                skipping: ["events/review"]
            )
        }
        for name in ["evnets/custom", "caching/outlives-a-500", "no/*"] {
            let report = ConformanceReport(subjects: [report(name)])
            #expect(!report.isSuccess, "\(name)")
            let problem = "recorded as a deviation, but of no case that was tried: \(name)"
            #expect(report.text().split(separator: "\n").first?.hasSuffix(", \(problem)") == true)
            #expect(report.junit().contains("name=\"deviates/\(name)\" time=\"0.0\"><failure type=\"broken\""))
            #expect(report.junit().contains(" failures=\"1\""))
            let subject = report.document().objectValue?["subjects"]?.arrayValue?.first?.objectValue
            #expect(subject?["idleDeviations"] == [["case": .string(name), "reason": "it was so"]])
        }
        for name in ["events/custom", "events/review"] {
            #expect(ConformanceReport(subjects: [report(name)]).isSuccess, "\(name)")
        }
        var partial = report("evnets/custom")
        partial.results.removeLast()
        #expect(ConformanceReport(subjects: [partial]).isSuccess)
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

    @Test("two runs of the in-memory provider produce the same document")
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
