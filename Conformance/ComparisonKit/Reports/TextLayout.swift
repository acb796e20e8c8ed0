/// Formats text in columns; pure.
enum TextLayout {
    /// Wraps a text between words; breaks words that are too long.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - width: The width; below 20 it counts as 20.
    /// - Returns: The lines.
    static func wrap(_ text: String, to width: Int) -> [String] {
        let width = max(20, width)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            var rest = word
            while rest.count > width {
                if !line.isEmpty { lines.append(line) }
                line = ""
                lines.append(String(rest.prefix(width)))
                rest = rest.dropFirst(width)
            }
            if line.isEmpty {
                line = String(rest)
            } else if line.count + 1 + rest.count <= width {
                line += " " + rest
            } else {
                lines.append(line)
                line = String(rest)
            }
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    /// Wraps a text behind a lead, with its further lines below the first one.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - lead: What the first line begins with, such as a bullet.
    /// - Returns: The lines, as wide as a report.
    static func item(_ text: String, _ lead: String = "  - ") -> [String] {
        wrap(text, to: TextReport.width - lead.count).enumerated().map { index, line in
            (index == 0 ? lead : "".padded(to: lead.count)) + line
        }
    }

    /// Cuts a text that is too long, with `…` at the end.
    static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(max(0, width - 1)) + "…"
    }

    /// Aligns rows in columns, the first to the left, the others to the right.
    static func table(_ rows: [[String]]) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                column == 0 ? cell.padded(to: widths[0]) : cell.leftPadded(to: widths[column])
            }
            return "  " + cells.joined(separator: "  ")
        }
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
    func leftPadded(to width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}
