import ConformanceKit
import Experimentation

/// A comparison as Markdown tables.
struct MarkdownReport {
    private let comparison: Comparison
    private let swap: Swap?

    init(_ comparison: Comparison, _ swap: Swap?) {
        self.comparison = comparison
        self.swap = swap
    }

    var text: String {
        var parts = [
            "# \(comparison.title)", comparison.summary, comparison.timing?.sentence ?? "", swap.map(firstScreen) ?? "",
            steps, folded, totals,
            CostMarkdown(comparison).text, fidelity, questions, matrix,
        ]
        parts += [failures, gaps]
        if let swap { parts.append(change(swap)) }
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
    }

    private var steps: String {
        var lines = [
            "## Step by step", "",
            "• marks a different outcome among the vendors that support the step, ~ only another reason.", "",
        ]
        lines += rows(comparison.shownSteps)
        return lines.joined(separator: "\n")
    }

    /// The steps without anything to compare, in a collapsed section.
    private var folded: String {
        guard let title = comparison.foldTitle else { return "" }
        let lines = ["<details><summary>\(title)</summary>", ""] + rows(comparison.foldedSteps) + ["", "</details>"]
        return lines.joined(separator: "\n")
    }

    private func rows(_ steps: [Comparison.StepName]) -> [String] {
        table(
            ["", "Step"] + comparison.vendors.map(\.name),
            steps.map { step in
                [
                    "\(step.number)\(Self.mark(comparison.kind(of: step.number)))", step.title,
                ] + comparison.vendors.map { cell($0.outcome(of: step.number)) }
            }
        )
    }

    private static func mark(_ kind: RowKind) -> String {
        switch kind {
        case .different: " •"
        case .anotherReason: " ~"
        case .same, .unsupported: ""
        }
    }

    private func firstScreen(_ swap: Swap) -> String {
        let groups = swap.summary.groups.map { title, group in
            var items = group.lines.map { $0.advice.isEmpty ? $0.what : "\($0.what) ⇒ *\($0.advice)*" }
            if items.isEmpty { items = ["nothing that the story shows"] }
            if group.more > 0 { items.append("and \(group.more) more below") }
            return section("### \(title)", items)
        }
        return (["## From \(swap.from) to \(swap.to), in short"] + groups).joined(separator: "\n\n")
    }

    private func cell(_ outcome: StepOutcome?) -> String {
        guard let outcome else { return "not reached" }
        let parts = [outcome.sentence, outcome.wire, outcome.latency.map(\.sentence) ?? ""].filter { !$0.isEmpty }
        return parts.joined(separator: "<br>")
    }

    private var totals: String {
        let header = [
            "", "Requests", "Sent", "Received", "Connections", "Reused", "Round trips", "Exposures", "Accepted",
            "Delivered",
            "Pending", "Purged",
            "Dropped", "Repeated", "Lost",
        ]
        let rows = comparison.vendors.map { vendor -> [String] in
            let traffic = vendor.traffic
            return [
                vendor.name, String(traffic.requests), Wording.bytes(traffic.bytesSent),
                Wording.bytes(traffic.bytesReceived), String(traffic.connections),
                traffic.reuse.map { "\($0) %" } ?? "–", String(traffic.roundTrips),
                String(vendor.exposures), String(vendor.ledger.accepted), String(vendor.ledger.delivered),
                String(vendor.ledger.pending), String(vendor.ledger.purged),
                String(vendor.ledger.dropped.values.reduce(0, +)), Wording.figure(vendor.repeated),
                Wording.figure(vendor.lost),
            ]
        }
        return (["## The whole story", ""] + table(header, rows)).joined(separator: "\n")
    }

    private var fidelity: String {
        let stories = comparison.vendors.filter { !$0.fidelity.isEmpty }
        guard !stories.isEmpty else { return "" }
        let rows =
            [["every event"] + stories.map { $0.commonFidelity ?? "–" }]
            + comparison.fidelityTypes.map { type in ["`\(type)`"] + stories.map { $0.fidelity(of: type) } }
        return (["## What of an event arrives", ""] + table([""] + stories.map(\.name), rows))
            .joined(separator: "\n")
    }

    private var questions: String {
        guard !comparison.questions.isEmpty else { return "" }
        let rows = comparison.questions.map { question in
            [question.title]
                + comparison.vendors.map { comparison.answer(to: question, by: $0) ?? "not reached" }
        }
        return (["## Questions that the story answers", ""] + table([""] + comparison.vendors.map(\.name), rows))
            .joined(separator: "\n")
    }

    private var matrix: String {
        let rows = Capability.all.map { capability in
            ["`\(capability.rawValue)`"]
                + comparison.vendors.map { vendor in
                    vendor.capabilities.contains(capability)
                        ? vendor.evidence.tick(capability) : vendor.reasons[capability.rawValue] ?? "–"
                }
        }
        return
            (["## What the adapters declare", ""]
            + table([""] + comparison.vendors.map(\.name), rows) + grounds).joined(separator: "\n")
    }

    private var grounds: [String] {
        let lines = EvidenceWording.lines(of: comparison)
        return lines.isEmpty ? [] : ["", EvidenceWording.legend, ""] + lines.map { "- \($0)" }
    }

    private var failures: String {
        let items = comparison.vendors.compactMap { vendor in vendor.failure.map { "\(vendor.name): \($0)" } }
        return section("## Ended early", items)
    }

    private var gaps: String {
        let items = comparison.vendors.flatMap { vendor in vendor.gaps.map { "\(vendor.name) can't hold \($0)" } }
        return section("## What the vendors can't hold of this world", items)
    }

    private func change(_ swap: Swap) -> String {
        var lines = ["## From \(swap.from) to \(swap.to)"]
        func add(_ text: String) { if !text.isEmpty { lines += ["", text] } }
        add(section("### No counterpart", swap.missing.map { "`\($0.capability)`: \($0.reason)" }))
        add(
            section(
                "### Calls without effect",
                swap.lostCalls.map { lost in
                    "\(lost.calls.map { "`\($0)`" }.joined(separator: ", ")): \(lost.reason)"
                }
            )
        )
        add(
            section(
                "### What waits on the day of the switch",
                swap.waiting.map { "\($0.what): \($0.fate)\($0.advice.isEmpty ? "" : " ⇒ *\($0.advice)*")" }
            )
        )
        add(section("### New", swap.gained.map { "`\($0)`" }))
        add(
            section(
                "### Known deviations of \(swap.to)",
                swap.deviations.map { record in
                    let link = record.link.map { " ([more](\($0)))" } ?? ""
                    return "`\(record.caseName)`: \(record.reason)\(link)"
                }
            )
        )
        add(
            section(
                "### Other answers",
                swap.answers.map { "\($0.question.title): \($0.before) → \($0.after)" }
            )
        )
        lines += ["", "### Steps that go differently", ""]
        lines += table(
            ["", "Step", swap.from, swap.to],
            swap.steps.map { [String($0.step), $0.title, $0.before, $0.after] }
        )
        lines += [
            "",
            "Traffic: \(swap.trafficBefore.sentence) with \(swap.from), \(swap.trafficAfter.sentence) with \(swap.to).",
        ]
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ items: [String]) -> String {
        items.isEmpty ? "" : ([title, ""] + items.map { "- \($0)" }).joined(separator: "\n")
    }

    private func table(_ header: [String], _ rows: [[String]]) -> [String] { MarkdownText.table(header, rows) }
}

/// Escapes text for Markdown, in lines and in table cells.
enum MarkdownText {
    /// The text in one line, with anything escaped that would end a cell or start a tag.
    static func of(_ text: String) -> String {
        OneLine.of(text.replacing("\n", with: " ")).replacing("|", with: "\\|").replacing("<", with: "&lt;")
    }

    /// Formats a table of escaped cells.
    static func table(_ header: [String], _ rows: [[String]]) -> [String] {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        return [line(header), "|" + String(repeating: "---|", count: header.count)] + rows.map(line)
    }
}

extension FlagValue {
    /// A copy with all strings, keys included, transformed.
    func mappingTexts(_ change: (String) -> String) -> FlagValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let values): .array(values.map { $0.mappingTexts(change) })
        case .object(let members):
            .object(
                Dictionary(
                    members.map { (change($0.key), $0.value.mappingTexts(change)) },
                    uniquingKeysWith: { one, _ in one }
                )
            )
        default: self
        }
    }
}
