import Experimentation

/// A comparison as a document, in one of four formats.
public struct ComparisonReport: Sendable {
    /// The formats.
    public enum Format: String, Sendable, CaseIterable {
        /// Plain text of at most 100 columns.
        case text
        /// Markdown for a repository.
        case markdown
        /// JSON for programs, described by `docs/schemas/comparison.schema.json`.
        case json
        /// A self-contained HTML page.
        case html
    }

    let comparison: Comparison
    let swap: Swap?

    /// Creates a report; with a swap it also says what would change.
    public init(_ comparison: Comparison, swap: Swap? = nil) {
        self.comparison = comparison
        self.swap = swap
    }

    /// Formats the report.
    ///
    /// - Parameters:
    ///   - format: The format.
    ///   - isColored: Whether text may contain terminal color escapes.
    /// - Returns: The document, ending with a line feed.
    public func text(as format: Format, isColored: Bool = false) -> String {
        switch format {
        case .text:
            TextReport(
                WrittenForm.of(comparison, as: OneLine.of),
                swap.map { WrittenForm.of($0, as: OneLine.of) },
                Palette(isOn: isColored)
            ).text
        case .markdown:
            MarkdownReport(
                WrittenForm.of(comparison, as: MarkdownText.of),
                swap.map { WrittenForm.of($0, as: MarkdownText.of) }
            ).text
        case .json:
            WrittenForm.json(
                Document(
                    comparison: comparison,
                    rows: comparison.steps.map { Row(step: $0.number, kind: comparison.kind(of: $0.number)) },
                    swap: swap
                )
            )
        case .html: HTMLReport(comparison, swap).text
        }
    }

    private struct Document: Codable {
        var comparison: Comparison
        var rows: [Row]
        var swap: Swap?
    }

    private struct Row: Codable {
        var step: Int
        var kind: RowKind
    }
}

/// Terminal color escapes, or none.
struct Palette: Sendable {
    let isOn: Bool
    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func note(_ text: String) -> String { wrap(text, "33") }
    private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
