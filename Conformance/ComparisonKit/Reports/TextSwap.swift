import ConformanceKit
import Experimentation

/// What would change between two vendors, as text of at most 100 columns.
struct TextSwap {
    private let swap: Swap
    private let palette: Palette

    init(_ swap: Swap, _ palette: Palette) {
        self.swap = swap
        self.palette = palette
    }

    /// The summary for one screen.
    var firstScreen: [String] {
        var lines = ["", palette.bold("From \(swap.from) to \(swap.to), in short")]
        for (title, group) in swap.summary.groups {
            lines += ["", title]
            if group.lines.isEmpty { lines.append("  nothing that the story shows") }
            for line in group.lines {
                let text = line.advice.isEmpty ? line.what : "\(line.what) ⇒ \(line.advice)"
                lines += TextLayout.item(text)
            }
            if group.more > 0 { lines.append("  and \(group.more) more below") }
        }
        return lines
    }

    /// Everything that would change.
    var section: [String] {
        func list(_ title: String, _ items: [String]) -> [String] {
            items.isEmpty ? [] : ["", title] + items.flatMap { TextLayout.item($0) }
        }
        var lines = ["", palette.bold("From \(swap.from) to \(swap.to)")]
        lines += list("No counterpart:", swap.missing.map { "\($0.capability): \($0.reason)" })
        lines += list(
            "Calls without effect:",
            swap.lostCalls.map { "\($0.calls.joined(separator: ", ")): \($0.reason)" }
        )
        lines += list(
            "What waits on the day of the switch:",
            swap.waiting.map { "\($0.what): \($0.fate)\($0.advice.isEmpty ? "" : " ⇒ \($0.advice)")" }
        )
        lines += list("New:", swap.gained.map(\.rawValue))
        lines += list("Known deviations of \(swap.to):", swap.deviations.map { "\($0.caseName): \($0.reason)" })
        lines += list(
            "Other answers:",
            swap.answers.map { "\($0.question.title): \($0.before) → \($0.after)" }
        )
        lines += list(
            "Steps that go differently:",
            swap.steps.map { "\($0.step) \($0.title): \($0.before) → \($0.after)" }
        )
        lines += list(
            "Traffic:",
            ["\(swap.from): \(swap.trafficBefore.sentence)", "\(swap.to): \(swap.trafficAfter.sentence)"]
        )
        return lines
    }
}
