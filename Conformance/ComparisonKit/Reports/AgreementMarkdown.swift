/// An agreement as Markdown tables.
struct AgreementMarkdown {
    private let agreement: Agreement
    private let rows: AgreementRows

    init(_ agreement: Agreement) {
        self.agreement = agreement
        rows = AgreementRows(agreement: agreement)
    }

    var text: String {
        var lines = ["# Do \(agreement.from) and \(agreement.to) agree?", "", rows.summary.joined(separator: " "), ""]
        lines += MarkdownText.table(
            ["Experiment", "What to do", "Users", "Change", "Change, handed over", "Why"],
            agreement.experiments.map { experiment in
                [
                    experiment.name, experiment.advice.title, Wording.count(experiment.users),
                    MarkdownText.of(Wording.percent(experiment.share)),
                    MarkdownText.of(Wording.percent(experiment.shareImported)),
                    experiment.reason,
                ]
            }
        )
        for experiment in agreement.experiments { lines += section(experiment) }
        if !agreement.exposures.isEmpty {
            lines += ["", "## Exposures that arrive"]
            for group in rows.exposures {
                lines += ["", "### \(group.title)", ""]
                lines += group.problem.map { ["\($0)."] } ?? table([AgreementRows.exposureHead] + group.rows)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func section(_ experiment: Agreement.Experiment) -> [String] {
        var lines = ["", "## \(experiment.name)", "", MarkdownText.of(rows.sentence(experiment)) + "."]
        if let doubt = rows.doubt(experiment) { lines += ["", doubt + "."] }
        for isImported in experiment.imported == experiment.matrix ? [false] : [false, true] {
            lines += ["", "\(AgreementRows.caption(isImported: isImported)):", ""]
            lines += table(rows.matrix(experiment, isImported: isImported))
        }
        let ratios = rows.ratios(experiment)
        if !ratios.isEmpty { lines += [""] + table([AgreementRows.ratioHead] + ratios) }
        return lines
    }

    private func table(_ rows: [[String]]) -> [String] {
        let written = rows.map { $0.map { $0 == "< 1e-6" ? "&lt; 1e-6" : $0 } }
        return MarkdownText.table(written.first ?? [], Array(written.dropFirst()))
    }
}
