import ConformanceKit
import Experimentation

/// A comparison as a self-contained page without scripts.
struct HTMLReport {
    private let comparison: Comparison
    private let swap: Swap?

    init(_ comparison: Comparison, _ swap: Swap?) {
        self.comparison = comparison
        self.swap = swap
    }

    var text: String {
        let sections = [
            swap.map { HTMLSwap($0).firstScreen } ?? "", swap.map { HTMLSwap($0).section } ?? "", glance, questions,
            HTMLSteps(comparison).section,
            charts, CostHTML(comparison).section, fidelity, matrix, failures, limits,
            HTMLTranscripts(comparison).section,
        ]
        return HTMLPage(
            title: comparison.title,
            titleEnd: " – vendor comparison",
            kicker: "Vendor comparison · scenario <code>\(HTML.escaped(comparison.scenario))</code> · \(rounds)",
            lead: comparison.summary,
            navigation: navigation,
            skip: "steps",
            skipTitle: "Skip to the steps",
            sections: sections,
            footer: "Every vendor was played by a mock that speaks its wire protocol on a local socket. "
                + HTML.escaped(comparison.timing?.sentence ?? "No times were measured.")
        ).text
    }

    private var rounds: String { comparison.rounds == 1 ? "one round" : "\(comparison.rounds) rounds" }

    private var navigation: String {
        var links = [("glance", "At a glance"), ("steps", "Step by step"), ("charts", "Time and traffic")]
        if CostHTML(comparison).isThere { links.append(("cost", "What it costs")) }
        links += [("matrix", "Capabilities"), ("wire", "On the wire")]
        if !comparison.questions.isEmpty { links.insert(("questions", "Questions"), at: 1) }
        if swap != nil { links = [("short", "In short"), ("swap", "What would change")] + links }
        return HTMLPage.navigation(links)
    }

    // MARK: Cards

    private var glance: String {
        let cards = comparison.vendors.enumerated().map { index, vendor -> String in
            let traffic = vendor.traffic
            let unsupported = vendor.outcomes.count { $0.kind == .unsupported }
            let done = vendor.outcomes.count { $0.kind == .done }
            var facts: [(String, String)] = [
                ("Steps done", "\(done) of \(comparison.steps.count)"),
                ("Unsupported", String(unsupported)),
                ("Requests", String(traffic.requests)),
                ("Sent / received", "\(Wording.bytes(traffic.bytesSent)) / \(Wording.bytes(traffic.bytesReceived))"),
                ("Round trips", String(traffic.roundTrips)),
                ("Connections reused", traffic.reuse.map { "\($0) %" } ?? "–"),
                ("Exposures", String(vendor.exposures)),
                ("Events delivered", "\(vendor.ledger.delivered) of \(vendor.ledger.accepted)"),
                (
                    "Pending · purged · dropped",
                    "\(vendor.ledger.pending) · \(vendor.ledger.purged) · \(vendor.ledger.dropped.values.reduce(0, +))"
                ),
                ("Repeated · lost", "\(Wording.figure(vendor.repeated)) · \(Wording.figure(vendor.lost))"),
            ]
            if let typical = vendor.typicalLatency { facts.insert(("Median request step", "\(typical) ms"), at: 4) }
            let rows = facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined()
            let failure = vendor.failure.map { "<p class=\"broken\">\(HTML.escaped($0))</p>" } ?? ""
            return """
                <article class="card v\(index % 6)"><h3>\(HTML.escaped(vendor.name))</h3>\(failure)<dl>\(rows)</dl></article>
                """
        }
        return """
            <section id="glance" aria-labelledby="glance-title"><h2 id="glance-title">At a glance</h2>
            <div class="cards">\(cards.joined(separator: "\n"))</div></section>
            """
    }

    // MARK: Questions

    private var questions: String {
        guard !comparison.questions.isEmpty else { return "" }
        let heads = comparison.vendors.enumerated().map { index, vendor in
            "<th scope=\"col\" class=\"v\(index % 6)\">\(HTML.escaped(vendor.name))</th>"
        }
        let rows = comparison.questions.map { question -> String in
            let cells = comparison.vendors.enumerated().map { index, vendor in
                let answer = comparison.answer(to: question, by: vendor) ?? "not reached"
                return "<td class=\"v\(index % 6)\" data-vendor=\"\(HTML.escaped(vendor.name))\">"
                    + "\(HTML.escaped(answer))</td>"
            }
            return "<tr><th scope=\"row\">\(question.title)</th>\(cells.joined())</tr>"
        }
        return """
            <section id="questions" aria-labelledby="questions-title"><h2 id="questions-title">Questions that the story \
            answers</h2>
            <div class="scroll" role="region" aria-labelledby="questions-title" tabindex="0">\
            <table class="steps plain"><caption class="hidden">Answers by vendor</caption>
            <thead><tr><th scope="col">Question</th>\(heads.joined())</tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div></section>
            """
    }

    // MARK: Fidelity

    private var fidelity: String {
        let stories = comparison.vendors.enumerated().filter { !$0.element.fidelity.isEmpty }
        guard !stories.isEmpty else { return "" }
        let heads = stories.map { index, vendor in
            "<th scope=\"col\" class=\"v\(index % 6)\">\(HTML.escaped(vendor.name))</th>"
        }
        func row(_ title: String, _ cell: (VendorStory) -> String) -> String {
            let cells = stories.map { index, vendor in
                "<td class=\"v\(index % 6)\" data-vendor=\"\(HTML.escaped(vendor.name))\">"
                    + "\(HTML.escaped(cell(vendor)))</td>"
            }
            return "<tr><th scope=\"row\">\(title)</th>\(cells.joined())</tr>"
        }
        let rows =
            [row("every event") { $0.commonFidelity ?? "–" }]
            + comparison.fidelityTypes.map { type in
                row("<code>\(HTML.escaped(type))</code>") { $0.fidelity(of: type) }
            }
        return """
            <section id="fidelity" aria-labelledby="fidelity-title"><h2 id="fidelity-title">What of an event arrives</h2>
            <div class="scroll" role="region" aria-labelledby="fidelity-title" tabindex="0">\
            <table class="steps plain"><caption class="hidden">Types of events by vendor</caption>
            <thead><tr><th scope="col">Event</th>\(heads.joined())</tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div></section>
            """
    }

    // MARK: Charts

    private var charts: String {
        let isTimed = comparison.vendors.contains { $0.outcomes.contains { $0.latency != nil } }
        let latency = isTimed ? HTMLChart.latency(comparison) : ""
        return """
            <section id="charts" aria-labelledby="charts-title"><h2 id="charts-title">Time and traffic</h2>
            \(comparison.timing.map { "<p class=\"quiet\">\(HTML.escaped($0.sentence))</p>" } ?? "")
            \(HTMLChart.traffic(comparison))
            \(latency)
            </section>
            """
    }

    // MARK: Matrix

    private var matrix: String {
        let heads = comparison.vendors.map { "<th scope=\"col\">\(HTML.escaped($0.name))</th>" }.joined()
        let rows = Capability.all.map { capability -> String in
            let cells = comparison.vendors.map { vendor -> String in
                let name = HTML.escaped(vendor.name)
                if vendor.capabilities.contains(capability) {
                    let isInferred = vendor.evidence.isInferred(capability)
                    let told = isInferred ? "yes, inferred" : "yes"
                    return "<td class=\"yes\(isInferred ? " inferred" : "")\" data-vendor=\"\(name)\">"
                        + "<span aria-hidden=\"true\">\(vendor.evidence.tick(capability))</span>"
                        + "<span class=\"hidden\">\(told)</span></td>"
                }
                let reason = HTML.escaped(vendor.reasons[capability.rawValue] ?? "Not offered")
                return "<td class=\"no\" data-vendor=\"\(name)\">\(reason)</td>"
            }
            return "<tr><th scope=\"row\"><code>\(capability.rawValue)</code></th>\(cells.joined())</tr>"
        }
        return """
            <section id="matrix" aria-labelledby="matrix-title"><h2 id="matrix-title">What the adapters declare</h2>
            <div class="scroll" role="region" aria-labelledby="matrix-title" tabindex="0"><table class="matrix">
            <caption class="hidden">Capabilities by vendor</caption>
            <thead><tr><th scope="col">Capability</th>\(heads)</tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>\(grounds)</section>
            """
    }

    private var grounds: String {
        let lines = EvidenceWording.lines(of: comparison).map { "<li>\(HTML.escaped($0))</li>" }
        return lines.isEmpty
            ? "" : "<p>\(HTML.escaped(EvidenceWording.legend))</p><ul>\(lines.joined(separator: "\n"))</ul>"
    }

    private var failures: String {
        list(
            "failures",
            "Ended early",
            comparison.vendors.compactMap { vendor in
                vendor.failure.map { "<strong>\(HTML.escaped(vendor.name))</strong>: \(HTML.escaped($0))" }
            }
        )
    }

    private var limits: String {
        list(
            "limits",
            "What the vendors can't hold of this world",
            comparison.vendors.flatMap { vendor in
                vendor.gaps.map { gap in
                    "<strong>\(HTML.escaped(vendor.name))</strong> can't hold <code>\(HTML.escaped(gap.path))</code>: "
                        + HTML.escaped(gap.reason)
                }
            }
        )
    }

    private func list(_ id: String, _ title: String, _ items: [String]) -> String {
        guard !items.isEmpty else { return "" }
        return """
            <section id="\(id)" aria-labelledby="\(id)-title"><h2 id="\(id)-title">\(title)</h2>
            <ul>\(items.map { "<li>\($0)</li>" }.joined())</ul></section>
            """
    }
}

extension VendorStory {
    /// The median latency of the steps that sent something, by the nearest rank as in ``Latency``, as text.
    var typicalLatency: String? {
        let measured = outcomes.filter { $0.traffic.requests > 0 }.compactMap { $0.latency?.p50 }.sorted()
        return measured.isEmpty ? nil : Wording.milliseconds(measured[(measured.count - 1) / 2])
    }
}

/// Escapes text for HTML.
package enum HTML {
    /// Escapes a text; characters that HTML doesn't allow become replacement characters.
    package static func escaped(_ text: String) -> String { text.escaped }
}
