import Experimentation

/// What a month costs and how traffic grows, in lines.
struct CostText {
    private let comparison: Comparison
    private let palette: Palette

    init(_ comparison: Comparison, _ palette: Palette) {
        self.comparison = comparison
        self.palette = palette
    }

    var lines: [String] { growth + month }

    private var growth: [String] {
        comparison.growth.flatMap { title, _, lines -> [String] in
            let rows = lines.map { vendor, points in
                [vendor.name]
                    + Growth.counts.map { count in
                        guard let traffic = points.first(where: { $0.count == count })?.traffic else { return "–" }
                        let (sent, received) = (Wording.bytes(traffic.bytesSent), Wording.bytes(traffic.bytesReceived))
                        return "\(traffic.requests) ↑\(sent) ↓\(received)"
                    }
            }
            let head = [""] + Growth.counts.map(Wording.count)
            return ["", palette.bold(title), palette.dim("  requests ↑sent ↓received")]
                + TextLayout.table([head] + rows)
        }
    }

    private var month: [String] {
        guard let usage = comparison.usage else { return [] }
        var lines = ["", palette.bold("A month")] + TextLayout.wrap(usage.sentence, to: TextReport.width)
        let rows = comparison.monthly.map { [$0.vendor.name] + $0.cost.cells }
        if !rows.isEmpty {
            lines += TextLayout.table([[""] + MonthlyCost.heads.map { $0.lowercased() }] + rows)
            lines += TextLayout.wrap(MonthlyCost.grounds, to: TextReport.width).map(palette.dim)
        }
        if !comparison.untold.isEmpty {
            let untold = "can't be told: \(comparison.untold.joined(separator: ", "))"
            lines += TextLayout.wrap(untold, to: TextReport.width - 2).map { "  \($0)" }
        }
        return lines
    }
}
