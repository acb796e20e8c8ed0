/// An agreement as a self-contained page without scripts.
struct AgreementHTML {
    private let agreement: Agreement
    private let rows: AgreementRows

    init(_ agreement: Agreement) {
        self.agreement = agreement
        rows = AgreementRows(agreement: agreement)
    }

    var text: String {
        let title = "Do \(agreement.from) and \(agreement.to) agree?"
        let sections = [advice] + agreement.experiments.enumerated().map(section) + [exposures]
        return HTMLPage(
            title: title,
            kicker: HTML.escaped("Assignment agreement · \(Wording.count(agreement.users)) users"),
            lead: rows.summary.joined(separator: " "),
            navigation: HTMLPage.navigation(
                [("advice", "What to do")]
                    + agreement.experiments.enumerated().map { ("experiment-\($0)", $1.name) }
                    + (agreement.exposures.isEmpty ? [] : [("exposures", "Exposures")])
            ),
            skip: "advice",
            skipTitle: "Skip to what to do",
            sections: sections,
            footer:
                "A ratio is off where chance alone would be as far off less than once in a thousand times. It is tested "
                + "where at least \(Int(RatioTest.fewest)) users are expected in each variation."
        ).text
    }

    private var advice: String {
        let cards = Agreement.Advice.allCases.compactMap { advice -> String? in
            let own = agreement.experiments.filter { $0.advice == advice }
            guard !own.isEmpty else { return nil }
            let items = own.map {
                "<li><strong>\(HTML.escaped($0.name))</strong>: \(HTML.escaped($0.reason))</li>"
            }
            return "<article class=\"card\"><h3>\(Self.heading(advice))</h3><ul>\(items.joined())</ul></article>"
        }
        return """
            <section id="advice" aria-labelledby="advice-title"><h2 id="advice-title">What to do</h2>
            <div class="cards">\(cards.joined(separator: "\n"))</div></section>
            """
    }

    private static func heading(_ advice: Agreement.Advice) -> String {
        advice.title.prefix(1).uppercased() + advice.title.dropFirst()
    }

    private func section(_ index: Int, _ experiment: Agreement.Experiment) -> String {
        let id = "experiment-\(index)"
        let doubt = rows.doubt(experiment).map { "<p class=\"quiet\">\(HTML.escaped($0))</p>" } ?? ""
        var tables = (experiment.imported == experiment.matrix ? [false] : [false, true]).map { isImported in
            let caption = AgreementRows.caption(isImported: isImported)
            return table(
                rows.matrix(experiment, isImported: isImported),
                caption,
                label: "\(caption): \(experiment.name)",
                isMatrix: true
            )
        }
        let ratios = rows.ratios(experiment)
        if !ratios.isEmpty {
            let caption = "Is the allocation what its weights say?"
            tables.append(table([AgreementRows.ratioHead] + ratios, caption, label: "\(caption) \(experiment.name)"))
        }
        return """
            <section id="\(id)" aria-labelledby="\(id)-title"><h2 id="\(id)-title">\(HTML.escaped(experiment.name))</h2>
            <p>\(HTML.escaped(rows.sentence(experiment))).</p>\(doubt)
            \(tables.joined(separator: "\n"))</section>
            """
    }

    private var exposures: String {
        guard !agreement.exposures.isEmpty else { return "" }
        let tables = rows.exposures.map { group in
            group.problem.map { "<p><strong>\(HTML.escaped(group.title))</strong>: \(HTML.escaped($0))</p>" }
                ?? table([AgreementRows.exposureHead] + group.rows, group.title, label: group.title)
        }
        return """
            <section id="exposures" aria-labelledby="exposures-title"><h2 id="exposures-title">Exposures that arrive</h2>
            \(tables.joined(separator: "\n"))</section>
            """
    }

    /// A table in a region that can be scrolled; `label` distinguishes the region from the page's others.
    private func table(_ rows: [[String]], _ caption: String, label: String, isMatrix: Bool = false) -> String {
        let head = (rows.first ?? []).map { "<th scope=\"col\">\(HTML.escaped($0))</th>" }.joined()
        let body = rows.dropFirst().map { row -> String in
            let cells = zip(rows[0], row).dropFirst().map { title, cell in
                let style = cell == "off" ? " class=\"broken\"" : ""
                // On a narrow screen the cells are below the name of their row, without the heading of their column.
                let column = HTML.escaped(isMatrix ? "→ \(title)" : title)
                return "<td\(style) data-vendor=\"\(column)\">\(HTML.escaped(cell))</td>"
            }
            return "<tr><th scope=\"row\">\(HTML.escaped(row[0]))</th>\(cells.joined())</tr>"
        }
        return """
            <div class="scroll counts" role="region" aria-label="\(HTML.escaped(label))" tabindex="0">\
            <table class="steps plain"><caption>\(HTML.escaped(caption))</caption><thead><tr>\(head)</tr></thead>
            <tbody>\(body.joined(separator: "\n"))</tbody></table></div>
            """
    }
}
