import Experimentation

extension ConformanceReport {
    /// The report as a self-contained HTML page with light and dark themes, for screens of any size, keyboard use and
    /// offline reading.
    public func html() -> String {
        let sign = isIdle ? "<p>" : isSuccess ? "<p class=\"ok\">✓ " : "<p class=\"bad\">✘ "
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Conformance</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <header><h1>Conformance</h1>\(sign)\(verdict)</p></header>
            <main>
            \(overview)
            \(failureSection)
            \(Promise.chapters.map { chapter(named: $0.name, lines: $0.lines) }.joined(separator: "\n"))
            \(lackSection)
            \(evidenceSection)
            </main>
            <footer><p>\(headline.escaped)</p>✓ passed · \(Evidence.legend) · ✘ failed · ~ deviates, recorded · – unsupported, with the reasons below the tables</footer>
            </body>
            </html>

            """
    }

    private var overview: String {
        let rows = subjects.map { subject in
            let total = max(1, subject.results.count)
            var x = 0.0
            let bars = Self.words.compactMap { word -> String? in
                guard let count = subject.counts[word] else { return nil }
                let width = Double(count) / Double(total) * 240
                defer { x += width }
                return "<rect class=\"\(word)\" x=\"\(x)\" y=\"0\" width=\"\(width)\" height=\"14\"/>"
            }
            return """
                <tr><th scope="row">\(subject.name.escaped)</th>
                <td><svg viewBox="0 0 240 14" width="240" height="14" role="img" \
                aria-label="\(subject.sentence.escaped)">\(bars.joined())</svg></td>
                <td>\(subject.sentence.escaped)</td></tr>
                """
        }
        return
            "<table class=\"subjects\"><caption>Subjects</caption><tbody>\(rows.joined(separator: "\n"))</tbody></table>"
    }

    private func chapter(named name: String, lines: ClosedRange<Int>) -> String {
        let rows = caseNames.filter { lines.contains($0.promise) }
        guard !rows.isEmpty else { return "" }
        let head = subjects.map { "<th scope=\"col\">\($0.name.escaped)</th>" }.joined()
        let body = rows.map { row in
            let cells = subjects.map { subject -> String in
                guard let result = subject.results.first(where: { $0.name == row.name }) else { return "<td></td>" }
                let reason = (result.outcome.reason ?? result.outcome.word).escaped
                let inferred = subject.restsOnInference(result)
                let told = inferred ? "\(reason), which \(Evidence.restingOnInference)" : reason
                return """
                    <td class="\(result.outcome.word)\(inferred ? " inferred" : "")" title="\(told)">\
                    <span aria-hidden="true">\(subject.sign(result))</span>\
                    <span class="sr">\(result.outcome.word): \(told)</span></td>
                    """
            }
            return """
                <tr><th scope="row">\(row.summary.escaped)<br><code>\(row.name.escaped)</code></th>\(cells.joined())</tr>
                """
        }
        return """
            <section><h2>\(name)</h2><div class="scroll" role="region" aria-label="\(name)" tabindex="0"><table>
            <caption class="sr">\(name): outcomes by case and subject</caption>
            <thead><tr><th scope="col">Case</th>\(head)</tr></thead>
            <tbody>\(body.joined(separator: "\n"))</tbody></table></div></section>
            """
    }

    private var failureSection: String {
        let stories = subjects.flatMap { subject in
            subject.results.filter { $0.outcome.isRemarkable }.map { result in
                """
                <details><summary><b>\(subject.name.escaped)</b> <span class="\(result.outcome.word)">\
                \(result.outcome.word)</span> <code>\(result.name.escaped)</code>: \
                \((result.outcome.explanation ?? "").escaped)</summary>
                <pre tabindex="0">\(result.summaryLines.joined(separator: "\n").escaped)</pre>\(result.transcripts)</details>
                """
            }
        }
        return stories.isEmpty
            ? "" : "<section><h2>What isn't as promised</h2>\(stories.joined(separator: "\n"))</section>"
    }

    private var lackSection: String {
        let items = subjects.flatMap { subject in
            subject.lacks.map { lack in
                let names = lack.names.map { "<code>\($0.escaped)</code>" }.joined(separator: ", ")
                return "<li><b>\(subject.name.escaped)</b>: \(lack.reason.escaped)<br>\(names)</li>"
            }
        }
        return items.isEmpty
            ? "" : "<section><h2>Unsupported, and why</h2><ul>\(items.joined(separator: "\n"))</ul></section>"
    }

    private var evidenceSection: String {
        let parts = subjects.map { subject in
            let lines = subject.accountLines.map { "<li>\($0.escaped)</li>" }.joined()
            let unsure = subject.evidence.inferences.map { "<li>\($0.escaped)</li>" }.joined()
            let rules =
                unsure.isEmpty ? "" : "<details><summary>Inferred of the vendor</summary><ul>\(unsure)</ul></details>"
            return "<h3>\(subject.name.escaped)</h3><ul>\(lines)</ul>\(rules)"
        }
        return "<section><h2>Where it comes from</h2>\(parts.joined(separator: "\n"))</section>"
    }

    private static let style = """
        :root{color-scheme:light dark;--bg:#fff;--fg:#1c1c1e;--dim:#68686e;--line:#d8d8de;--good:#19733a;--bad:#b3261e;\
        --odd:#8a5a00;--none:#c3c3ca}
        @media(prefers-color-scheme:dark){:root{--bg:#161618;--fg:#eee;--dim:#a0a0a8;--line:#3a3a40;--good:#5fd38a;\
        --bad:#ff8a80;--odd:#f0b64d;--none:#55555c}}
        body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--bg);color:var(--fg);\
        font:16px/1.45 system-ui,sans-serif}
        table{border-collapse:collapse;width:100%;font-size:.92rem}caption{text-align:left;font-weight:600;padding:.4rem 0}
        th,td{border-bottom:1px solid var(--line);padding:.35rem .5rem;text-align:left;vertical-align:top}
        th[scope=row]{font-weight:400}code{color:var(--dim);font-size:.8rem}
        .scroll{position:relative;overflow-x:auto}td.passed,.ok{color:var(--good)}.failed,.broken,.undeclared,.bad{color:var(--bad)}
        .deviates{color:var(--odd)}td.inferred{color:var(--odd);border-bottom-style:dashed}td.unsupported{color:var(--dim)}
        rect.passed{fill:var(--good)}rect.failed,rect.broken,rect.undeclared{fill:var(--bad)}
        rect.deviates{fill:var(--odd)}rect.unsupported{fill:var(--none)}
        .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        summary{cursor:pointer;overflow-wrap:anywhere}:focus-visible{outline:3px solid var(--odd);outline-offset:2px}
        li{margin:.3rem 0}td,th,li{overflow-wrap:anywhere}.scroll thead th{overflow-wrap:normal}\
        .scroll tbody th{min-width:10rem}.subjects td:first-of-type{width:240px}
        @media screen and (max-width:600px){.subjects td:first-of-type{display:none}}
        details{border-bottom:1px solid var(--line);padding:.4rem 0}pre{overflow-x:auto;white-space:pre-wrap}
        footer{color:var(--dim);padding:1rem 0}svg{max-width:100%}
        @page{margin:12mm}@media print{:root{--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--good:#19733a;--bad:#b3261e;\
        --odd:#8a5a00;--none:#c3c3ca}body{font-size:9.5pt;max-width:none;padding:0}table{font-size:8pt}\
        th,td{padding:2pt 4pt}code{font-size:7pt}.scroll{overflow:visible}tr,details{break-inside:avoid}h2{break-after:avoid}\
        thead{display:table-header-group}rect{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
        """
}

extension CaseResult {
    /// The exchanges of a story, each collapsible.
    fileprivate var transcripts: String {
        story.exchanges.map { exchange in
            return """
                <details><summary>\(exchange.sentence.escaped)</summary><pre tabindex="0">\(exchange.request.escaped)\n\n\((exchange.response ?? "no answer").escaped)</pre></details>
                """
        }
        .joined()
    }
}
