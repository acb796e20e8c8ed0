import Experimentation

/// Bar charts as inline SVG, with the figures as text.
enum HTMLChart {
    /// The traffic of each vendor over the whole scenario.
    static func traffic(_ comparison: Comparison) -> String {
        let most = comparison.vendors.map { max($0.traffic.bytesSent, $0.traffic.bytesReceived) }.max() ?? 0
        let scale = 480.0 / Double(max(most, 1))
        var bars = ""
        for (index, vendor) in comparison.vendors.enumerated() {
            let y = index * 58
            let traffic = vendor.traffic
            bars += text(0, y + 14, vendor.name, "name")
            bars += bar(150, y, Double(traffic.bytesSent) * scale, 20, "v\(index % 6)")
            bars += text(
                158 + width(Double(traffic.bytesSent) * scale),
                y + 15,
                "↑ \(Wording.bytes(traffic.bytesSent))"
            )
            bars += bar(150, y + 23, Double(traffic.bytesReceived) * scale, 20, "v\(index % 6) pale")
            bars += text(
                158 + width(Double(traffic.bytesReceived) * scale),
                y + 38,
                "↓ \(Wording.bytes(traffic.bytesReceived)) in \(traffic.requests) \(traffic.requests == 1 ? "request" : "requests")"
            )
        }
        let label = comparison.vendors
            .map {
                "\($0.name): \(Wording.bytes($0.traffic.bytesSent)) sent, "
                    + "\(Wording.bytes($0.traffic.bytesReceived)) received"
            }
            .joined(separator: "; ")
        return figure(
            "Bytes over the whole story, sent above received",
            label,
            viewBox: "0 0 820 \(max(comparison.vendors.count * 58, 58))",
            bars
        )
    }

    /// The latency of each step: a strip of columns per vendor; the thin line is the 99th percentile.
    static func latency(_ comparison: Comparison) -> String {
        let stories = comparison.vendors.filter { $0.outcomes.contains { $0.latency != nil } }
        let most = stories.flatMap(\.outcomes).compactMap { $0.latency.map { $0.p99 ?? $0.p50 } }.max() ?? 1
        let column = 660.0 / Double(max(comparison.steps.count, 1))
        let height = 64.0
        var marks = ""
        for (row, story) in stories.enumerated() {
            let index = comparison.vendors.firstIndex { $0.name == story.name } ?? row
            let base = Double(row) * 92 + height + 8
            marks += text(0, Int(base) - 26, story.name, "name")
            marks += "<line class=\"axis\" x1=\"150\" y1=\"\(base)\" x2=\"812\" y2=\"\(base)\"/>"
            for (position, step) in comparison.steps.enumerated() {
                let x = 152 + Double(position) * column
                // Steps without a latency are numbered too, so that columns can be found by number.
                if step.number % 5 == 0 || step.number == 1 {
                    marks += text(Int(x), Int(base) + 15, String(step.number), "tick")
                }
                guard let latency = story.outcome(of: step.number)?.latency else { continue }
                let tall = root(latency.p50, most) * height
                let whisker = root(latency.p99 ?? latency.p50, most) * height
                let title = "Step \(step.number), \(step.title): \(latency.sentence)"
                marks +=
                    "<g><title>\(HTML.escaped(title))</title>"
                    + "<line class=\"whisker\" x1=\"\(fixed(x + column * 0.4))\" y1=\"\(fixed(base - whisker))\""
                    + " x2=\"\(fixed(x + column * 0.4))\" y2=\"\(fixed(base))\"/>"
                    + "<rect class=\"v\(index % 6)\" x=\"\(fixed(x))\" y=\"\(fixed(base - tall))\""
                    + " width=\"\(fixed(column * 0.8))\" height=\"\(fixed(max(tall, 0.5)))\" rx=\"1.5\"/></g>"
            }
        }
        return figure(
            "Time per step, by square root so that small ones show; the tallest is "
                + "\(Wording.milliseconds(most)) ms. Column: median; line: 99th percentile",
            "Latency of every step by vendor; the table above has the figures",
            viewBox: "0 0 820 \(max(stories.count * 92, 92))",
            marks
        )
    }

    static func figure(_ caption: String, _ label: String, viewBox: String, _ body: String) -> String {
        """
        <figure><figcaption>\(HTML.escaped(caption))</figcaption>
        <div class="scroll" tabindex="0" role="region" aria-label="\(HTML.escaped(caption))">\
        <svg viewBox="\(viewBox)" role="img" aria-label="\(HTML.escaped(label))">\(body)</svg></div></figure>
        """
    }

    private static func bar(_ x: Int, _ y: Int, _ length: Double, _ height: Int, _ style: String) -> String {
        "<rect class=\"\(style)\" x=\"\(x)\" y=\"\(y)\" width=\"\(fixed(max(length, 1)))\" height=\"\(height)\" rx=\"3\"/>"
    }

    static func text(_ x: Int, _ y: Int, _ text: String, _ style: String = "figure") -> String {
        "<text class=\"\(style)\" x=\"\(x)\" y=\"\(y)\">\(HTML.escaped(text))</text>"
    }

    private static func width(_ length: Double) -> Int { Int(exactly: max(length, 1).rounded()) ?? 0 }

    private static func root(_ value: Double, _ most: Double) -> Double {
        most > 0 && value > 0 ? (value / most).squareRoot() : 0
    }

    static func fixed(_ value: Double) -> String {
        let tenths = Int(exactly: (value * 10).rounded()) ?? 0
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
