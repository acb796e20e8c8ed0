/// An agreement as text of at most 100 columns.
struct AgreementText {
    private let agreement: Agreement
    private let rows: AgreementRows
    private let palette: Palette

    init(_ agreement: Agreement, _ palette: Palette) {
        self.agreement = agreement
        rows = AgreementRows(agreement: agreement)
        self.palette = palette
    }

    var text: String {
        var lines = [palette.bold("Do \(agreement.from) and \(agreement.to) agree?")]
        lines += TextLayout.wrap(rows.summary.joined(separator: " "), to: TextReport.width)
        lines += [""]
        for experiment in agreement.experiments { lines += headline(experiment) }
        for experiment in agreement.experiments { lines += block(experiment) }
        lines += exposures
        return lines.joined(separator: "\n") + "\n"
    }

    private func headline(_ experiment: Agreement.Experiment) -> [String] {
        let title = "\(experiment.advice.title): \(experiment.name)"
        let shown =
            switch experiment.advice {
            case .finishFirst: palette.bad(title)
            case .importFirst: palette.note(title)
            case .carryOn: palette.good(title)
            case .starts, .nobody: palette.dim(title)
            }
        return [shown] + TextLayout.wrap(experiment.reason, to: TextReport.width - 2).map { "  \($0)" }
    }

    private func block(_ experiment: Agreement.Experiment) -> [String] {
        let name = experiment.name == experiment.id ? experiment.name : "\(experiment.name) (\(experiment.id))"
        var lines = ["", palette.bold(name)]
        lines += TextLayout.wrap(rows.sentence(experiment), to: TextReport.width - 2).map { "  \($0)" }
        if let doubt = rows.doubt(experiment) { lines.append(palette.note("  \(doubt)")) }
        for isImported in experiment.imported == experiment.matrix ? [false] : [false, true] {
            lines += ["", "  \(AgreementRows.caption(isImported: isImported)):"]
            lines += table(rows.matrix(experiment, isImported: isImported))
        }
        let ratios = rows.ratios(experiment)
        if !ratios.isEmpty { lines += [""] + table([AgreementRows.ratioHead] + ratios) }
        return lines
    }

    private var exposures: [String] {
        guard !agreement.exposures.isEmpty else { return [] }
        var lines = ["", palette.bold("Exposures that arrive")]
        for group in rows.exposures {
            lines += ["", "  \(group.title)"]
            if let problem = group.problem {
                lines += TextLayout.wrap(problem, to: TextReport.width - 4).map { "    \($0)" }
            } else {
                lines += table([AgreementRows.exposureHead] + group.rows)
            }
        }
        return lines
    }

    /// A table where it fits, else a line for each nonempty cell.
    private func table(_ rows: [[String]]) -> [String] {
        // The corner has the names of both vendors.
        let lines = TextLayout.table(
            rows.map { row in row.enumerated().map { TextLayout.cut($1, to: $0 == 0 ? 60 : 40) } }
        )
        if lines.allSatisfy({ $0.count <= TextReport.width }) { return lines }
        guard let head = rows.first else { return [] }
        return rows.dropFirst().flatMap { row in
            zip(head, row).dropFirst().filter { $1 != "0" && !$1.isEmpty }.flatMap { title, cell in
                TextLayout.wrap("\(row[0]), \(title): \(cell)", to: TextReport.width - 2).map { "  \($0)" }
            }
        }
    }
}
