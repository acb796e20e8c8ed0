import ConformanceKit
import Experimentation
import Foundation
import Testing

@testable import ComparisonKit

@Suite("Reports of a comparison")
struct ReportTests {
    static let report = ComparisonReport(MadeUp.comparison, swap: MadeUp.comparison.swap(from: "north", to: "south"))

    @Test("text fits a hundred columns and shows value, reason, traffic, time and missing support")
    func text() {
        let text = Self.report.text(as: .text)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.filter { $0.count > 100 } == [])
        #expect(text.contains("\n-     2 steps that at most one of the vendors has: 2 (north), 3 (north)\n"))
        #expect(!text.contains("Which <colour> has the checkout?\n"))
        #expect(text.contains("*  4  She buys"))
        #expect(text.contains("\"green\" SPLIT (v-2)"))
        #expect(text.contains("2 req ↑1.3 kB ↓240 B  3.50/4.50 ms"))
        #expect(text.contains("unsupported: South has no flags"))
        #expect(text.contains("   1  Ada opens the shop\n      all"))
        #expect(text.contains("not reached"))
        #expect(text.contains("south: step 5 did not end within 10 s"))
        #expect(text.contains("From north to south"))
        #expect(!text.contains("\u{1B}["))
    }

    /// The answers in the made-up story.
    private static let answers: [Question: [String]] = [
        .offline: [
            "2 of 3 readings answered (STALE); 2 events kept, 1 delivered later", "1 event kept, 1 delivered later",
        ],
        .linking: [
            "kept: 3 of 4 values, 1 of 1 places in experiments; the vendor is told that both are one user in 2 requests",
            "failed: TIMEOUT",
        ],
        .withdrawal: [
            "2 waiting events removed, 0 left; 4 of 4 flags still decided; the vendor is told; nothing arrives later",
            "1 waiting event removed, 1 left; the vendor isn't told; 2 arrive later all the same",
        ],
    ]

    @Test("findings of the story are given in words")
    func answers() {
        let comparison = MadeUp.comparison
        #expect(comparison.questions == [.offline, .linking, .withdrawal])
        for question in comparison.questions {
            #expect(comparison.vendors.map { comparison.answer(to: question, by: $0) } == Self.answers[question])
        }
    }

    @Test(
        "answers appear in every format, and differing ones in the swap",
        arguments: ComparisonReport.Format.allCases
    )
    func answersEverywhere(format: ComparisonReport.Format) {
        // Formats differ in line breaks and tables only.
        let text = Self.report.text(as: format).replacing("&#39;", with: "'")
            .replacing(/\s+/, with: " ")
        guard format != .json else {
            #expect(text.contains("\"placesKept\" : 1") && text.contains("\"arrivals\" : 2"))
            return
        }
        for (question, sentences) in Self.answers {
            #expect(text.contains(question.title))
            for sentence in sentences { #expect(text.contains(sentence), "\(sentence)") }
        }
    }

    @Test("every figure of the comparison appears in every format", arguments: ["text", "markdown", "html"])
    func figuresEverywhere(format: String) throws {
        let text = Self.report.text(as: try #require(ComparisonReport.Format(rawValue: format))).lowercased()
            .replacing(/\s+/, with: " ")
        for word in [
            "requests", "sent", "received", "reused", "exposures", "delivered", "pending", "purged", "dropped",
            "repeated", "lost", "split", "v-2", "transport", "3.50/4.50 ms", "local-evaluation", "track(.purchase)",
            "round trips", "the median of 120 rounds, and the 99th percentile; round trip: 40.0 ms for each request",
            "50,000 users with 3 sessions each; in a session 7 reads and 9 events", "350,000", "500 mb", "150 mb",
            "1,550,000", "billed events", "89.0 kb", "3.1 kb", "by the number of flags", "south",
        ] {
            #expect(text.contains(word), "\(word)")
        }
    }

    @Test("a row with only another reason is marked in the same words in every format")
    func anotherReason() throws {
        var comparison = MadeUp.comparison
        comparison.vendors[1] = comparison.vendors[0]
        comparison.vendors[1].outcomes[2].evaluation?.reason = "CACHED"
        let report = ComparisonReport(comparison)
        #expect(report.text(as: .text).contains("* differs, ~ another reason, - folded."))
        #expect(report.text(as: .markdown).contains("~ only another reason."))
        #expect(report.text(as: .html).contains("<span class=\"badge\">another reason</span>"))
    }

    @Test(
        "a vendor whose story ended early is reported under a heading of its own",
        arguments: ["text", "markdown", "html"]
    )
    func endedEarly(format: String) throws {
        let format = try #require(ComparisonReport.Format(rawValue: format))
        let text = Self.report.text(as: format)
        let end = try #require(text.range(of: "Ended early"))
        let limits = try #require(text.range(of: "hold of this world"))
        let reason = try #require(text[end.upperBound...].range(of: "step 5 did not end within 10 s"))
        let gap = try #require(text[limits.upperBound...].range(of: "flags"))
        #expect(end.lowerBound < reason.lowerBound && reason.lowerBound < limits.lowerBound)
        #expect(limits.lowerBound < gap.lowerBound)
        var comparison = MadeUp.comparison
        comparison.vendors[1].failure = nil
        #expect(!ComparisonReport(comparison).text(as: format).contains("Ended early"))
    }

    @Test("names of any length fit the text report", arguments: [24, 25, 94, 400])
    func longNames(length: Int) throws {
        var comparison = MadeUp.comparison
        let name = String(repeating: "n", count: length)
        comparison.vendors[1].name = name
        comparison.vendors[1].outcomes[0].by = [name]
        let swap = try #require(comparison.swap(from: "north", to: name))
        let text = ComparisonReport(comparison, swap: swap).text(as: .text)
        #expect(text.split(separator: "\n").filter { $0.count > 100 } == [])
        let shown = length == 24 ? name : name.prefix(23) + "…"
        #expect(text.contains("      \(shown)  not reached"))
    }

    @Test("words are wrapped, and broken where they are too long, at any width", arguments: [-5, 0, 1, 20])
    func narrow(width: Int) {
        let lines = TextLayout.wrap("a word and " + String(repeating: "x", count: 45), to: width)
        #expect(lines == ["a word and", String(repeating: "x", count: 20), String(repeating: "x", count: 20), "xxxxx"])
    }

    @Test("text is colored only on request")
    func colors() {
        #expect(Self.report.text(as: .text, isColored: true).contains("\u{1B}["))
    }

    @Test("every row of a Markdown table has as many cells as its header")
    func markdown() {
        let text = Self.report.text(as: .markdown)
        var columns: Int?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                columns = nil
                continue
            }
            let count = line.replacing("\\|", with: "").count { $0 == "|" }
            #expect(columns == nil || columns == count, "\(line)")
            columns = count
        }
        let fold = "<details><summary>2 steps that at most one of the vendors has</summary>\n\n|"
        let parts = text.split(separator: fold, maxSplits: 1)
        #expect(parts.count == 2 && parts[0].contains("| 5 • |") && !parts[0].contains("| 3 | Which &lt;colour>"))
        #expect(parts[1].split(separator: "\n\n</details>", maxSplits: 1)[0].contains("| 3 | Which &lt;colour>"))
        #expect(text.contains("| 4 • | She buys"))
        #expect(text.contains("`delivery/order`: South orders by arrival ([more](docs/south.md#order))"))
    }

    @Test("JSON holds the comparison and the swap, and can be read back")
    func json() throws {
        struct Document: Decodable {
            var comparison: Comparison
            var rows: [Row]
            var swap: Swap?
        }
        struct Row: Decodable, Equatable {
            var step: Int
            var kind: RowKind
        }
        let document = try JSONDecoder().decode(Document.self, from: Data(Self.report.text(as: .json).utf8))
        #expect(document.comparison == MadeUp.comparison)
        let kinds: [RowKind] = [.same, .unsupported, .unsupported, .different, .different]
        #expect(document.rows == kinds.enumerated().map { Row(step: $0 + 1, kind: $1) })
        #expect(document.swap == MadeUp.comparison.swap(from: "north", to: "south"))
    }

    @Test("without timings only latencies are missing")
    func withoutTimings() {
        let bare = MadeUp.comparison.withoutTimings
        #expect(bare.vendors.allSatisfy { $0.outcomes.allSatisfy { $0.latency == nil } })
        #expect(bare.vendors[0].traffic == MadeUp.north.traffic && bare.timing == nil)
        #expect(!ComparisonReport(bare).text(as: .markdown).contains(" ms"))
    }

    @Test("a swap lists steps that differ, what is lost, what is new, and deviations")
    func swap() throws {
        let swap = try #require(MadeUp.comparison.swap(from: "north", to: "south"))
        #expect(swap.steps.map(\.step) == [2, 3, 4, 5])
        #expect(swap.steps[1].before == "\"green\" SPLIT (v-2)")
        #expect(swap.steps[1].after == "unsupported: South has no flags")
        #expect(swap.steps[3].after == "not reached")
        #expect(swap.missing.map(\.capability) == [.flags, .experiments, .exposures])
        #expect(swap.missing[0].reason == "South has no flags")
        #expect(swap.lostCalls.map(\.calls.last) == ["session.details", "session.expose", "track(.purchase)"])
        #expect(swap.gained == [.campaigns])
        #expect(swap.answers.map(\.question) == [.offline, .linking, .withdrawal])
        #expect(swap.answers[1].after == "failed: TIMEOUT")
        #expect(swap.deviations.map(\.caseName) == ["delivery/order"])
        #expect(MadeUp.comparison.swap(from: "north", to: "nowhere") == nil)
    }

    @Test(
        "figures are formatted for people",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1449, "1.4 kB"), (1_250_000, "1.3 MB"),
            (2_449_000_000, "2.4 GB"), (7_000_000_000_000, "7.0 TB"),
        ]
    )
    func bytes(count: Int, text: String) {
        #expect(Wording.bytes(count) == text)
    }

    @Test(
        "times are formatted for people",
        arguments: [
            (0.0, "0"), (0.014, "0.01"), (2.1, "2.10"), (9.999, "10.00"), (12.34, "12.3"), (1234.5, "1235"),
            (.nan, "–"), (.infinity, "–"),
        ]
    )
    func milliseconds(value: Double, text: String) {
        #expect(Wording.milliseconds(value) == text)
    }

    @Test(
        "a step is unsupported only if at most one vendor supports it",
        arguments: [
            (["a", "a", "a"], RowKind.same), (["a", "a", nil], .same), (["a", "b", nil], .different),
            (["a", nil, nil], .unsupported), ([nil, nil, nil], .unsupported), (["a"], .same), ([nil], .unsupported),
        ]
    )
    func rowKinds(values: [String?], kind: RowKind) {
        let stories = values.enumerated().map { number, value in
            VendorStory(
                name: "vendor-\(number)",
                outcomes: [
                    value.map {
                        StepOutcome(
                            step: 1,
                            evaluation: .init(
                                flag: "f",
                                value: .string($0),
                                variant: "variant-\(number)",
                                reason: "STATIC"
                            ),
                            events: EventCount(pending: number)
                        )
                    } ?? StepOutcome(step: 1, kind: .unsupported, note: "nothing like it")
                ]
            )
        }
        let comparison = Comparison(
            scenario: "s",
            title: "s",
            steps: [.init(number: 1, title: "It is read", action: "read")],
            vendors: stories
        )
        #expect(comparison.kind(of: 1) == kind)
        #expect(comparison.foldedSteps.map(\.number) == (kind == .unsupported ? [1] : []))
        #expect(comparison.shownSteps.map(\.number) == (kind == .unsupported ? [] : [1]))
    }
}
