import ConformanceKit
import Experimentation

/// The page's section on what would change.
struct HTMLSwap {
    private let swap: Swap

    init(_ swap: Swap) { self.swap = swap }

    var section: String {
        let rows =
            swap.answers.map { row(HTML.escaped($0.question.title), $0.before, $0.after) }
            + swap.steps.map { step in
                row("<span class=\"number\">\(step.step)</span> \(HTML.escaped(step.title))", step.before, step.after)
            }
        let deviations = swap.deviations.map { record in
            let link = record.link.map { " <span class=\"why\">\(HTML.escaped($0))</span>" } ?? ""
            return "<code>\(HTML.escaped(record.caseName))</code>: \(HTML.escaped(record.reason))\(link)"
        }
        let from = HTML.escaped(swap.from)
        let to = HTML.escaped(swap.to)
        return """
            <section id="swap" aria-labelledby="swap-title"><h2 id="swap-title">What would change from \(from) to \(to)</h2>
            <div class="cards">
            \(list("No counterpart", missing))
            \(list("Calls without effect", lostCalls))
            \(list("What waits on the day of the switch", waiting))
            \(list("New with \(to)", swap.gained.map { "<code>\($0)</code>" }))
            \(list("Known deviations of \(to)", deviations))
            <article class="card"><h3>Traffic of the story</h3><p>\(from): \(swap.trafficBefore.sentence)<br>\
            \(to): \(swap.trafficAfter.sentence)</p></article>
            </div>
            <div class="scroll" role="region" aria-labelledby="swap-title" tabindex="0"><table class="steps swap">
            <caption>\(caption)</caption>
            <thead><tr><th scope="col">Step</th><th scope="col">\(from)</th><th scope="col">\(to)</th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div></section>
            """
    }

    /// The summary in four cards.
    var firstScreen: String {
        let cards = swap.summary.groups.map { title, group in
            var items = group.lines.map { line in
                let advice = line.advice.isEmpty ? "" : "<br><strong>\(HTML.escaped(line.advice))</strong>"
                return HTML.escaped(line.what) + advice
            }
            if group.more > 0 { items.append("and \(group.more) more below") }
            return list(title, items)
        }
        let title = "From \(HTML.escaped(swap.from)) to \(HTML.escaped(swap.to)), in short"
        return """
            <section id="short" aria-labelledby="short-title"><h2 id="short-title">\(title)</h2>
            <div class="cards">\(cards.joined(separator: "\n"))</div></section>
            """
    }

    private func row(_ head: String, _ before: String, _ after: String) -> String {
        """
        <tr><th scope="row">\(head)</th><td data-vendor="\(HTML.escaped(swap.from))">\(HTML.escaped(before))</td>\
        <td data-vendor="\(HTML.escaped(swap.to))">\(HTML.escaped(after))</td></tr>
        """
    }

    private var caption: String {
        let steps = swap.steps.count == 1 ? "1 step goes" : "\(swap.steps.count) steps go"
        let answers = swap.answers.count == 1 ? "1 question has" : "\(swap.answers.count) questions have"
        return swap.answers.isEmpty ? "\(steps) differently" : "\(answers) another answer, and \(steps) differently"
    }

    private var waiting: [String] {
        swap.waiting.map { waiting in
            let advice = waiting.advice.isEmpty ? "" : "<br><strong>\(HTML.escaped(waiting.advice))</strong>"
            return "\(HTML.escaped(waiting.what)): \(HTML.escaped(waiting.fate))\(advice)"
        }
    }

    private var lostCalls: [String] {
        swap.lostCalls.map { lost in
            let names = lost.calls.map { "<code>\(HTML.escaped($0))</code>" }.joined(separator: ", ")
            return "\(names): \(HTML.escaped(lost.reason))"
        }
    }

    /// What has no counterpart, a line per reason.
    private var missing: [String] {
        var reasons: [String] = []
        for call in swap.missing where !reasons.contains(call.reason) { reasons.append(call.reason) }
        return reasons.map { reason in
            let names = swap.missing.filter { $0.reason == reason }.map { "<code>\($0.capability)</code>" }
            return "\(names.joined(separator: ", ")): \(HTML.escaped(reason))"
        }
    }

    private func list(_ title: String, _ items: [String]) -> String {
        let body =
            items.isEmpty ? "<p class=\"quiet\">Nothing.</p>" : "<ul>\(items.map { "<li>\($0)</li>" }.joined())</ul>"
        return "<article class=\"card\"><h3>\(title)</h3>\(body)</article>"
    }
}
