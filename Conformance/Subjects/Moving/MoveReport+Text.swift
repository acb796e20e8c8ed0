import ComparisonKit
import Experimentation
import ExperimentationMigration

extension MoveReport {
    /// The format of a report.
    public enum Format: String, Sendable, CaseIterable {
        /// Plain text for a terminal.
        case text
        /// Markdown for a pull request.
        case markdown
        /// JSON for programs.
        case json
        /// HTML for a browser.
        case html
    }

    /// A table of the report.
    private struct Table {
        var title: String
        var columns: [String]
        var rows: [[String]]
    }

    private var headline: String {
        let moved = "\(users) users, \(experiments.count) experiments, from \(old) to \(new)"
        let variants = changedVariant == 0 ? "no user saw another variant" : "\(changedVariant) saw another variant"
        let heldAt = stages.first { !$0.held.isEmpty }.map {
            "; held before \($0.stage): \($0.held.joined(separator: "; "))"
        }
        return "\(moved): \(variants), \(unassigned) lost their place\(heldAt ?? "")"
    }

    private var tables: [Table] {
        let names = [old, new]
        let stageRows = stages.map { stage in
            [
                stage.title + (stage.isKilled ? " (killed before)" : "") + (stage.away.map { " (\($0) away)" } ?? ""),
                stage.held.isEmpty ? place(stage) : "held at \(stage.reached)",
                String(stage.users), names.map { String(stage.ledBy[$0] ?? 0) }.joined(separator: " / "),
                String(stage.failed), String(stage.changedVariant),
            ]
        }
        let exposureRows = names.compactMap { name in
            exposures[name].map { counts in
                [name]
                    + [counts.expected, counts.received, counts.twice, counts.missing, counts.unsupported].map(
                        String.init
                    )
            }
        }
        let ledgerRows = names.compactMap { name in
            ledgers[name].map { accounts in
                let ledger = accounts.ledger
                let dropped = ledger.dropped.values.reduce(0, +)
                return [name]
                    + [ledger.accepted, ledger.delivered, ledger.pending, ledger.purged, dropped].map(String.init)
                    + [ledger.isBalanced ? "yes" : "no"]
            }
        }
        let ratioRows = ratios.sorted { $0.key < $1.key }.map { key, ratio in
            [
                key, ratio.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "),
                ratio.pValue >= 0.001 ? "\((ratio.pValue * 1_000).rounded() / 1_000)" : "below 0.001",
                ratio.isAlarming ? "alarm" : "as it should be",
            ]
        }
        return [
            Table(
                title: "Stages",
                columns: ["step", "stage", "users", "answered by \(old) / \(new)", "failed", "changed variant"],
                rows: stageRows
            ),
            Table(
                title: "Exposures",
                columns: ["vendor", "expected", "received", "twice", "missing", "not taken"],
                rows: exposureRows
            ),
            Table(
                title: "Ledgers",
                columns: ["vendor", "accepted", "delivered", "pending", "purged", "dropped", "balanced"],
                rows: ledgerRows
            ),
            Table(
                title: "Mismatches in the shadow, of \(compared) flags of users (\(dropped) comparisons dropped)",
                columns: ["class", "confirmed"],
                rows: Mismatch.Kind.allCases.map { [$0.rawValue, String(mismatches[$0] ?? 0)] }
            ),
            Table(title: "Sample ratio", columns: ["experiment", "users", "p", ""], rows: ratioRows),
        ]
    }

    private var lists: [(String, [String])] {
        [("Changes", changes), ("Left out", leftOut)].filter { !$0.1.isEmpty }
    }

    /// The stage that was reached; only `live` has a share.
    private func place(_ stage: Stage) -> String {
        stage.reached == .live ? "live \(Int((stage.share * 100).rounded())) %" : "\(stage.reached)"
    }

    /// The report in a format.
    public func text(as format: Format) -> String {
        switch format {
        case .text: plain
        case .markdown: markdown
        case .json: json
        case .html: html
        }
    }

    private var json: String {
        var writer = JSONWriter(.asEncoder)
        guard (try? writer.value(document)) != nil else { return "null\n" }
        return String(decoding: writer.bytes, as: UTF8.self) + "\n"
    }

    private var plain: String {
        var lines = [headline]
        for table in tables where !table.rows.isEmpty {
            lines += ["", table.title]
            let widths = table.columns.indices.map { column in
                ([table.columns] + table.rows).map { $0[column].count }.max() ?? 0
            }
            for row in [table.columns] + table.rows {
                let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                lines.append(("  " + cells.joined(separator: "  ")).trimmingEnd)
            }
        }
        for (title, items) in lists { lines += ["", title] + items.map { "  " + $0 } }
        return lines.joined(separator: "\n") + "\n"
    }

    private var markdown: String {
        var lines = ["# Moving from \(old) to \(new)", "", headline + "."]
        for table in tables where !table.rows.isEmpty {
            lines += ["", "## \(table.title)", ""]
            lines.append("| " + table.columns.joined(separator: " | ") + " |")
            lines.append("|" + String(repeating: " --- |", count: table.columns.count))
            lines += table.rows.map { "| " + $0.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |" }
        }
        for (title, items) in lists { lines += ["", "## \(title)", ""] + items.map { "- " + $0 } }
        return lines.joined(separator: "\n") + "\n"
    }

    private var html: String {
        let sections = tables.filter { !$0.rows.isEmpty }.map { table in
            let head = table.columns.map { "<th scope=\"col\">\(HTML.escaped($0))</th>" }.joined()
            let body = table.rows.map { row in
                let cells = row.dropFirst().map { "<td>\(HTML.escaped($0))</td>" }.joined()
                return "<tr><th scope=\"row\">\(HTML.escaped(row[0]))</th>\(cells)</tr>"
            }
            return """
                <section><h2>\(HTML.escaped(table.title))</h2><div class="scroll"><table class="plain"><thead><tr>\(head)</tr></thead>
                <tbody>\(body.joined(separator: "\n"))</tbody></table></div></section>
                """
        }
        let ends = lists.map { title, items in
            "<section><h2>\(title)</h2><ul>\(items.map { "<li>\(HTML.escaped($0))</li>" }.joined())</ul></section>"
        }
        let title = "Moving from \(HTML.escaped(old)) to \(HTML.escaped(new))"
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
            <title>\(title)</title><style>\(HTMLStyle.sheet)</style></head>
            <body><header><p class="kicker">A move, played on mock vendors</p><h1>\(title)</h1>
            <p class="lead">\(HTML.escaped(headline)).</p></header><main>
            \((sections + ends).joined(separator: "\n"))
            </main></body></html>

            """
    }
}

extension String {
    fileprivate var trimmingEnd: String {
        var text = Substring(self)
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
