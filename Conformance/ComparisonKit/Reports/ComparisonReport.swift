import Experimentation

/// A comparison as a document, in one of four formats.
public struct ComparisonReport: Sendable {
    /// The formats.
    public enum Format: String, Sendable, CaseIterable {
        /// Lines of at most 100 columns.
        case text
        /// Tables for a repository.
        case markdown
        /// For programs; `docs/schemas/comparison.schema.json` describes it.
        case json
        /// One page without anything from elsewhere.
        case html
    }

    let comparison: Comparison
    let swap: Swap?

    /// Creates a report; with a swap it says what would change, too.
    public init(_ comparison: Comparison, swap: Swap? = nil) {
        self.comparison = comparison
        self.swap = swap
    }

    /// Writes the report.
    ///
    /// - Parameters:
    ///   - format: The format.
    ///   - isColored: Whether text may hold the escapes that colour a terminal.
    /// - Returns: The document, with a line break at its end.
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

/// The escapes that colour a terminal, or none.
struct Palette: Sendable {
    let isOn: Bool
    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func note(_ text: String) -> String { wrap(text, "33") }
    private func wrap(_ text: String, _ code: String) -> String { isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}
