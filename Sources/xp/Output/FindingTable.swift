import ArgumentParser
import Experimentation

/// A short table in text, Markdown or JSON.
struct FindingTable {
    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, markdown, json }

    var title: String
    var columns: [String]
    var rows: [[String]]
    /// The table as JSON.
    var document: FlagValue

    /// Formats the table.
    func text(as format: Format) -> String {
        switch format {
        case .json: JSONLine.pretty(document)
        case .markdown: markdown
        case .text: plain
        }
    }

    private var plain: String {
        if rows.isEmpty { return "\(title): nothing to say\n" }
        let all = [columns] + rows.map { $0.map(OneLine.of) }
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()) + "\n"
        }
        .joined()
    }

    private var markdown: String {
        let head = "# \(title)\n\n"
        if rows.isEmpty { return head + "Nothing to say.\n" }
        let lines = [columns, columns.map { _ in "---" }] + rows.map { $0.map(Self.cell) }
        return head + lines.map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }

    private static func cell(_ text: String) -> String {
        "`\(OneLine.of(text).replacing("`", with: "'").replacing("|", with: "\\|"))`"
    }
}
