import Experimentation
import Foundation

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
                Self.written(comparison, as: OneLine.of),
                swap.map { Self.written($0, as: OneLine.of) },
                Palette(isOn: isColored)
            ).text
        case .markdown:
            MarkdownReport(
                Self.written(comparison, as: MarkdownText.of),
                swap.map { Self.written($0, as: MarkdownText.of) }
            ).text
        case .json: json
        case .html: HTMLReport(comparison, swap).text
        }
    }

    /// The same with every text in it, names and titles from outside among them, as a format can hold it.
    private static func written<Part: Codable>(_ part: Part, as text: (String) -> String) -> Part {
        // Every part has a written form, of which texts are the leaves and the names.
        guard let data = try? JSONEncoder().encode(part),
            let value = try? JSONDecoder().decode(FlagValue.self, from: data),
            let changed = try? JSONEncoder().encode(value.mappingTexts(text)),
            let written = try? JSONDecoder().decode(Part.self, from: changed)
        else { return part }
        return written
    }

    private struct Document: Codable {
        var comparison: Comparison
        var swap: Swap?
    }

    private var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Every number in it is finite and every key a text, so there is nothing to fail.
        let data = (try? encoder.encode(Document(comparison: comparison, swap: swap))) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
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
