import Experimentation

/// A page of tables and lists, written as HTML.
struct MigrationPage {
    private let title: String
    private let lead: String
    private var sections: [String] = []

    init(title: String, lead: String) {
        self.title = title
        self.lead = lead
    }

    /// Adds a table; one without rows is left out.
    mutating func table(_ title: String, _ columns: [String], _ rows: [[String]]) {
        guard !rows.isEmpty else { return }
        let head = columns.map { "<th scope=\"col\">\($0.escaped)</th>" }.joined()
        let body = rows.map { row in
            let cells = row.dropFirst().map { "<td>\($0.escaped)</td>" }.joined()
            return "<tr><th scope=\"row\">\((row.first ?? "").escaped)</th>\(cells)</tr>"
        }
        sections.append(
            """
            <section><h2>\(title.escaped)</h2><div class="scroll"><table><thead><tr>\(head)</tr></thead>
            <tbody>\(body.joined(separator: "\n"))</tbody></table></div></section>
            """
        )
    }

    /// Adds a list.
    mutating func list(_ title: String, _ items: [String]) {
        let items = items.map { "<li>\($0.escaped)</li>" }.joined()
        sections.append("<section><h2>\(title.escaped)</h2><ul>\(items)</ul></section>")
    }

    /// The page.
    var text: String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
        <title>\(title.escaped)</title><style>\(Self.style)</style></head>
        <body><header><h1>\(title.escaped)</h1><p>\(lead.escaped)</p></header><main>
        \(sections.joined(separator: "\n"))
        </main></body></html>

        """
    }

    private static let style = """
        :root{color-scheme:light dark;--ink:#1b1f27;--soft:#5b6472;--line:#dfe3ea;--page:#f6f7f9;--card:#fff}
        @media (prefers-color-scheme:dark){:root{--ink:#e8ebf1;--soft:#a2abba;--line:#2d3440;--page:#12151b;--card:#1a1f28}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
        header,main{max-width:1100px;margin:0 auto;padding:0 20px}
        header{padding-top:32px}h1{font-size:1.9rem;line-height:1.2;margin:0 0 8px}header p{margin:0;color:var(--soft)}
        section{margin:32px 0}h2{font-size:1.15rem;margin:0 0 10px}
        .scroll{overflow-x:auto;border:1px solid var(--line);border-radius:10px;background:var(--card)}
        table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
        th,td{padding:8px 14px;text-align:left;border-top:1px solid var(--line);vertical-align:top}
        thead th{border-top:0;color:var(--soft);font-weight:600}tbody th{font-weight:500}
        @media print{body{background:#fff;color:#000}.scroll{overflow:visible}}
        """
}
