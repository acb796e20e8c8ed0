import ConformanceKit
import Experimentation

/// The page's table of steps.
struct HTMLSteps {
    private let comparison: Comparison

    init(_ comparison: Comparison) { self.comparison = comparison }

    var section: String {
        let heads = comparison.vendors.enumerated().map { index, vendor in
            "<th scope=\"col\" class=\"v\(index % 6)\">\(HTML.escaped(vendor.name))</th>"
        }
        return """
            <section id="steps" aria-labelledby="steps-title"><h2 id="steps-title">Step by step</h2>
            <p class="filter"><input type="checkbox" id="only"> <label for="only">Only the steps in which the vendors \
            differ</label></p>
            \(table(comparison.shownSteps, heads, "What happened at each step, by vendor"))
            \(folded(heads))</section>
            """
    }

    /// The steps at which there is nothing to compare.
    private func folded(_ heads: [String]) -> String {
        guard let title = comparison.foldTitle else { return "" }
        return """
            <details class="folded"><summary>\(HTML.escaped(title))</summary>
            \(table(comparison.foldedSteps, heads, title))</details>
            """
    }

    private func table(_ steps: [Comparison.StepName], _ heads: [String], _ caption: String) -> String {
        """
        <div class="scroll" role="region" aria-label="\(HTML.escaped(caption))" tabindex="0"><table class="steps">
        <caption class="hidden">\(HTML.escaped(caption))</caption>
        <thead><tr><th scope="col">Step</th>\(heads.joined())</tr></thead>
        <tbody>
        \(steps.map(row).joined(separator: "\n"))
        </tbody></table></div>
        """
    }

    private static let otherReason = "<span class=\"badge\">another reason</span>"

    private func row(_ step: Comparison.StepName) -> String {
        let kind = comparison.kind(of: step.number)
        let differs = kind == .different
        let mark = differs ? "<span class=\"mark\">differs</span>" : kind == .anotherReason ? Self.otherReason : ""
        let cells = comparison.vendors.enumerated().map { index, vendor in
            cell(vendor.outcome(of: step.number), vendor: vendor.name, color: index % 6)
        }
        return """
            <tr class="\(differs ? "differs" : "same")" id="step-\(step.number)"><th scope="row">\
            <span class="number">\(step.number)</span> \(HTML.escaped(step.title)) \(mark)</th>\(cells.joined())</tr>
            """
    }

    private func cell(_ outcome: StepOutcome?, vendor: String, color: Int) -> String {
        let open = "data-vendor=\"\(HTML.escaped(vendor))\""
        guard let outcome else { return "<td class=\"broken v\(color)\" \(open)>not reached</td>" }
        return "<td class=\"\(outcome.kind.rawValue) v\(color)\" \(open)>\(body(outcome))\(meta(outcome))</td>"
    }

    private func body(_ outcome: StepOutcome) -> String {
        switch outcome.kind {
        case .unsupported:
            let reason = HTML.escaped(outcome.note ?? "the vendor has nothing like it")
            return "<span class=\"badge\">unsupported</span> <span class=\"why\">\(reason)</span>"
        case .broken:
            return "<span class=\"badge\">broken</span> \(HTML.escaped(outcome.note ?? ""))"
        case .failed, .done: break
        }
        var parts: [String] = []
        if let evaluation = outcome.evaluation {
            let reason = "<span class=\"badge\">\(HTML.escaped(evaluation.reason))</span>"
            parts.append("<code class=\"value\">\(HTML.escaped(String(describing: evaluation.value)))</code> \(reason)")
            if let variant = evaluation.variant {
                parts.append("<span class=\"why\">variant \(HTML.escaped(variant))</span>")
            }
            if let error = evaluation.error { parts.append("<span class=\"badge bad\">\(HTML.escaped(error))</span>") }
        }
        if let place = outcome.assignment { parts.append(HTML.escaped(place.sentence)) }
        if outcome.kind == .failed {
            parts.append("<span class=\"badge bad\">\(HTML.escaped(outcome.error ?? "ERROR"))</span>")
        }
        let words = outcome.events.words.map(HTML.escaped)
        if !words.isEmpty { parts.append(words.joined(separator: " · ")) }
        if let note = outcome.note { parts.append("<span class=\"why\">\(HTML.escaped(note))</span>") }
        if parts.isEmpty { parts.append("<span class=\"quiet\">done</span>") }
        if let parties = outcome.parties { parts.append("<span class=\"why\">\(HTML.escaped(parties))</span>") }
        return parts.joined(separator: "<br>")
    }

    private func meta(_ outcome: StepOutcome) -> String {
        let parts = [outcome.wire, outcome.latency.map(\.sentence) ?? ""].filter { !$0.isEmpty }
        return parts.isEmpty ? "" : "<span class=\"meta\">\(parts.joined(separator: " · "))</span>"
    }
}
