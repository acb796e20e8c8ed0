import Experimentation

extension ConformanceReport {
    /// The report as Markdown: a table with a row per case and a column per subject, followed by the reasons.
    public func markdown() -> String {
        var lines = ["# Conformance", ""]
        lines.append(isSuccess ? verdict : "**\(verdict)**")
        lines.append("")
        for subject in subjects {
            lines.append("- **\(subject.name.cell)**: \(subject.sentence)")
            lines += subject.accountLines.map { "  - \($0.cell)" }
        }
        lines.append("")
        lines += [headline.cell, ""]
        let names = caseNames
        for chapter in Promise.chapters {
            let rows = names.filter { chapter.lines.contains($0.promise) }
            guard !rows.isEmpty else { continue }
            lines.append("## \(chapter.name)")
            lines.append("")
            lines.append("| Case | " + subjects.map(\.name.cell).joined(separator: " | ") + " |")
            lines.append("|---|" + subjects.map { _ in "---|" }.joined())
            for row in rows {
                let cells = subjects.map { subject in
                    subject.results.first { $0.name == row.name }.map(subject.sign) ?? ""
                }
                lines.append("| \(row.summary.cell) `\(row.name)` | " + cells.joined(separator: " | ") + " |")
            }
            lines.append("")
        }
        lines += remarks + stories + lacks + inferences
        lines.append("✓ passed · \(Evidence.legend) · ✘ failed · ~ deviates, recorded · – unsupported")
        return lines.joined(separator: "\n") + "\n"
    }

    private var remarks: [String] {
        let remarks = subjects.flatMap { subject in
            subject.results.compactMap { result in
                result.outcome.isRemarkable
                    ? "- \(subject.name.cell), `\(result.name)`: \(result.outcome.word): \((result.outcome.explanation ?? "").cell)"
                    : nil
            }
        }
        return remarks.isEmpty ? [] : ["## Remarks", ""] + remarks + [""]
    }

    private var stories: [String] {
        let stories = subjects.flatMap { subject in
            subject.results.filter(\.outcome.isFailure).flatMap { result -> [String] in
                // A fence longer than any inside, so that content from outside can't end it.
                let body = result.storyLines.joined(separator: "\n")
                let longest = body.split(whereSeparator: { $0 != "`" }).map(\.count).max() ?? 0
                let fence = String(repeating: "`", count: max(3, longest + 1))
                return ["### \(subject.name.cell), `\(result.name)`", "", fence + "text", body, fence, ""]
            }
        }
        return stories.isEmpty ? [] : ["## What happened", ""] + stories
    }

    private var lacks: [String] {
        let lines = subjects.flatMap { subject in
            subject.lacks.map { lack in
                "- \(subject.name.cell): \(lack.reason.cell) (\(lack.names.map { "`\($0)`" }.joined(separator: ", ")))"
            }
        }
        return lines.isEmpty ? [] : ["## Unsupported, and why", ""] + lines + [""]
    }

    private var inferences: [String] {
        let lines = subjects.flatMap { subject in
            subject.evidence.inferences.map { "- \(subject.name.cell): \($0.cell)" }
        }
        return lines.isEmpty ? [] : ["## Inferred of the vendors", ""] + lines + [""]
    }

    /// The cases of all subjects, each once, in order.
    var caseNames: [CaseResult] {
        var seen: Set<String> = []
        return subjects.flatMap(\.results).filter { seen.insert($0.name).inserted }
    }
}

extension ConformanceReport.Subject {
    /// The symbol for a table cell, in parentheses where a pass rests on inference.
    func sign(_ result: CaseResult) -> String {
        restsOnInference(result) ? "(\(result.outcome.sign))" : result.outcome.sign
    }
}

extension Outcome {
    /// The symbol for a table cell.
    var sign: String {
        switch self {
        case .passed: "✓"
        case .failed, .outdated, .undeclared: "✘"
        case .deviates: "~"
        case .unsupported: "–"
        }
    }

    /// Whether the result needs an explanation.
    var isRemarkable: Bool {
        switch self {
        case .passed, .unsupported: false
        default: true
        }
    }
}

extension String {
    /// The text escaped for a table cell.
    fileprivate var cell: String { onOneLine.replacing("|", with: "\\|").replacing("<", with: "&lt;") }
}
