import Experimentation

/// What a month costs and how traffic grows, in tables.
struct CostMarkdown {
    private let comparison: Comparison

    init(_ comparison: Comparison) { self.comparison = comparison }

    var text: String {
        let lines = growth + month
        return lines.joined(separator: "\n")
    }

    private var growth: [String] {
        guard !comparison.growth.isEmpty else { return [] }
        return ["## How traffic grows"]
            + comparison.growth.flatMap { title, _, lines in
                let rows = lines.map { vendor, points in
                    [vendor.name]
                        + Growth.counts.map { count in
                            points.first { $0.count == count }?.traffic.sentence ?? "–"
                        }
                }
                return ["", "\(title):", ""] + MarkdownText.table([""] + Growth.counts.map(Wording.count), rows)
            }
    }

    private var month: [String] {
        guard let usage = comparison.usage else { return [] }
        var lines = comparison.growth.isEmpty ? [] : [""]
        lines += ["## A month", "", "\(usage.sentence).", ""]
        let rows = comparison.monthly.map { [$0.vendor.name] + $0.cost.cells }
        if !rows.isEmpty { lines += MarkdownText.table([""] + MonthlyCost.heads, rows) + ["", MonthlyCost.grounds] }
        if !comparison.untold.isEmpty { lines += ["", "Can't be told: \(comparison.untold.joined(separator: ", "))."] }
        return lines
    }
}
