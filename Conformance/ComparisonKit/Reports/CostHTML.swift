import Experimentation
import Foundation

/// What a month costs and how traffic grows, on the page.
struct CostHTML {
    private let comparison: Comparison

    init(_ comparison: Comparison) { self.comparison = comparison }

    var isThere: Bool { comparison.usage != nil || !comparison.growth.isEmpty }

    var section: String {
        guard isThere else { return "" }
        return """
            <section id="cost" aria-labelledby="cost-title"><h2 id="cost-title">What it costs</h2>
            \(month)
            \(comparison.growth.map { growth($0.title, $0.unit, $0.lines) }.joined(separator: "\n"))
            </section>
            """
    }

    // MARK: A month

    private var month: String {
        guard let usage = comparison.usage else { return "" }
        let rows = comparison.monthly.map { row($0.vendor, $0.cost.cells) }
        let heads = MonthlyCost.heads.map { "<th scope=\"col\">\($0)</th>" }.joined()
        let table =
            rows.isEmpty
            ? ""
            : self.table("A month, by vendor", "<th scope=\"col\">A month</th>\(heads)", rows)
                + "<p class=\"quiet\">\(HTML.escaped(MonthlyCost.grounds))</p>"
        let untold = comparison.untold
        let rest = untold.isEmpty ? "" : "<p>Can’t be told: \(HTML.escaped(untold.joined(separator: ", "))).</p>"
        return "<p>\(HTML.escaped(usage.sentence)).</p>\(table)\(rest)"
    }

    // MARK: Lines

    private func growth(
        _ title: String,
        _ unit: String,
        _ lines: [(vendor: VendorStory, points: [Growth.Point])]
    ) -> String {
        let rows = lines.map { vendor, points in
            row(vendor, Growth.counts.map { count in points.first { $0.count == count }?.traffic.sentence ?? "–" })
        }
        let heads = Growth.counts.map { "<th scope=\"col\">\(Wording.count($0)) \(unit)</th>" }.joined()
        return chart(title, unit, lines) + table(title, "<th scope=\"col\">Vendor</th>\(heads)", rows)
    }

    /// Draws both axes by powers of ten, so that even growth is a straight line.
    private func chart(
        _ title: String,
        _ unit: String,
        _ lines: [(vendor: VendorStory, points: [Growth.Point])]
    ) -> String {
        let all = lines.flatMap { $0.points.map(Self.bytes) }
        let (least, most) = (Self.log(all.min() ?? 1), Self.log(all.max() ?? 1))
        func y(_ bytes: Int) -> Double { 190 - (Self.log(bytes) - least) / max(most - least, 0.1) * 160 }
        func x(_ count: Int) -> Double { 160 + (Self.log(count) - 1) * 200 }
        var marks = Growth.counts.map {
            "<line class=\"axis\" x1=\"\(HTMLChart.fixed(x($0)))\" y1=\"24\" x2=\"\(HTMLChart.fixed(x($0)))\" y2=\"196\"/>"
                + HTMLChart.text(Int(x($0)) - 12, 214, "\(Wording.count($0)) \(unit)", "tick")
        }
        // Labels go beside the ends of their lines, one below the other where the ends meet.
        var last = -20.0
        let ends = lines.compactMap { line in line.points.last.map { (line, $0) } }.sorted {
            y(Self.bytes($0.1)) < y(Self.bytes($1.1))
        }
        for (line, end) in ends {
            let color = (comparison.vendors.firstIndex { $0.name == line.vendor.name } ?? 0) % 6
            let points = line.points.map { (HTMLChart.fixed(x($0.count)), HTMLChart.fixed(y(Self.bytes($0)))) }
            let path = points.map { "\($0.0),\($0.1)" }.joined(separator: " ")
            let dots = points.map { "<circle cx=\"\($0.0)\" cy=\"\($0.1)\" r=\"3.5\"/>" }.joined()
            marks.append("<g class=\"v\(color)\"><polyline points=\"\(path)\"/>\(dots)</g>")
            last = max(y(Self.bytes(end)), last + 17)
            let told = "\(line.vendor.name) · \(Wording.bytes(Self.bytes(end)))"
            marks.append(HTMLChart.text(Int(x(end.count)) + 12, Int(last) + 4, told))
        }
        let height = max(224, Int(last) + 14)
        return HTMLChart.figure(
            "\(title): bytes sent and received, both axes by powers of ten",
            "\(title); the table below has the figures",
            viewBox: "0 0 820 \(height)",
            marks.joined()
        )
    }

    private static func bytes(_ point: Growth.Point) -> Int { point.traffic.bytesSent + point.traffic.bytesReceived }

    private static func log(_ count: Int) -> Double { Foundation.log10(Double(max(count, 1))) }

    // MARK: Tables

    private func row(_ vendor: VendorStory, _ cells: [String]) -> String {
        let cells = cells.map { "<td>\(HTML.escaped($0))</td>" }.joined()
        return "<tr><th scope=\"row\">\(HTML.escaped(vendor.name))</th>\(cells)</tr>"
    }

    private func table(_ caption: String, _ heads: String, _ rows: [String]) -> String {
        """
        <div class="scroll" role="region" aria-label="\(HTML.escaped(caption))" tabindex="0"><table class="counts">
        <caption class="hidden">\(HTML.escaped(caption))</caption>
        <thead><tr>\(heads)</tr></thead><tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
        """
    }
}
