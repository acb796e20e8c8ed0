import ConformanceKit
import Experimentation

/// A comparison as text of at most 100 columns.
struct TextReport {
    private let comparison: Comparison
    private let swap: Swap?
    private let palette: Palette
    private let nameWidth: Int

    static let width = 100
    /// The longest name of a vendor; a composition's file may give it any name.
    static let longestName = 24

    init(_ comparison: Comparison, _ swap: Swap?, _ palette: Palette) {
        func short(_ name: String) -> String { TextLayout.cut(name, to: Self.longestName) }
        var comparison = comparison
        for index in comparison.vendors.indices {
            comparison.vendors[index].name = short(comparison.vendors[index].name)
        }
        self.comparison = comparison
        self.swap = swap.map { swap in
            var swap = swap
            (swap.from, swap.to) = (short(swap.from), short(swap.to))
            return swap
        }
        self.palette = palette
        nameWidth = (comparison.vendors.map(\.name.count).max() ?? 0) + 2
    }

    var text: String {
        var lines: [String] = [palette.bold(comparison.title)]
        lines += TextLayout.wrap(comparison.summary, to: Self.width)
        if let swap { lines += TextSwap(swap, palette).firstScreen }
        let rounds = comparison.rounds == 1 ? "one round" : "\(comparison.rounds) rounds"
        lines += [
            "",
            palette.dim(
                "Scenario \(comparison.scenario), \(rounds). * differs, ~ another reason, - folded."
            ),
        ]
        if let timing = comparison.timing {
            lines += TextLayout.wrap(timing.sentence, to: Self.width).map(palette.dim)
        }
        lines.append("")
        for step in comparison.shownSteps { lines += block(step) }
        lines += folded + totals + CostText(comparison, palette).lines + fidelity + questions + capabilities
        lines += failures + gaps
        if let swap { lines += TextSwap(swap, palette).section }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Steps

    private static func mark(_ kind: RowKind) -> String {
        switch kind {
        case .same: " "
        case .anotherReason: "~"
        case .different: "*"
        case .unsupported: "-"
        }
    }

    private func block(_ step: Comparison.StepName) -> [String] {
        let number = String(step.number).leftPadded(to: 3)
        let mark = Self.mark(comparison.kind(of: step.number))
        var lines = [palette.bold("\(mark)\(number)  \(step.title)")]
        let outcomes = comparison.vendors.map { ($0.name, $0.outcome(of: step.number)) }
        let cells = Set(outcomes.map { cell($0.1).joined(separator: "|") })
        if cells.count == 1, comparison.vendors.count > 1, let first = outcomes.first {
            return lines + rows("all", first.1)
        }
        // Vendors that lack the feature for the same reason share a line.
        var folded: Set<String> = []
        for (name, outcome) in outcomes where !folded.contains(name) {
            guard outcome?.kind == .unsupported else {
                lines += rows(name, outcome)
                continue
            }
            let alike = outcomes.filter { $0.1?.kind == .unsupported && $0.1?.sentence == outcome?.sentence }.map(\.0)
            folded.formUnion(alike)
            let head = alike.joined(separator: ", ")
            lines += head.count < nameWidth ? rows(head, outcome) : alike.flatMap { rows($0, outcome) }
        }
        return lines
    }

    /// One line with details: the steps that can't be compared, their number, and the vendors that have them.
    private var folded: [String] {
        guard let title = comparison.foldTitle else { return [] }
        let list = comparison.foldedSteps.map { step in
            "\(step.number)" + (comparison.owner(of: step.number).map { " (\($0))" } ?? "")
        }
        return TextLayout.item("\(title): \(list.joined(separator: ", "))", "-     ").map(palette.dim)
    }

    private func cell(_ outcome: StepOutcome?) -> [String] {
        guard let outcome else { return ["not reached", ""] }
        let wire = [outcome.wire, outcome.latency.map(\.sentence) ?? ""].filter { !$0.isEmpty }
        return [outcome.sentence, wire.joined(separator: "  ")]
    }

    private func rows(_ name: String, _ outcome: StepOutcome?) -> [String] {
        let parts = cell(outcome)
        let indent = 6 + nameWidth
        let room = Self.width - indent
        let wire = parts[1]
        let head = "      " + name.padded(to: nameWidth)
        let words = TextLayout.wrap(parts[0], to: room)
        var lines = words.enumerated().map { index, line in
            (index == 0 ? head : String(repeating: " ", count: indent)) + colored(line, outcome)
        }
        guard !wire.isEmpty, let last = words.last else { return lines }
        // On the last line if there is room, else below; always right-aligned.
        let gap = room - last.count - wire.count
        if gap >= 2 {
            lines[lines.count - 1] += String(repeating: " ", count: gap) + palette.dim(wire)
        } else {
            lines.append(palette.dim(wire.leftPadded(to: Self.width)))
        }
        return lines
    }

    private func colored(_ text: String, _ outcome: StepOutcome?) -> String {
        switch outcome?.kind {
        case .unsupported: palette.dim(text)
        case .failed: palette.note(text)
        case .broken, nil: palette.bad(text)
        case .done: text
        }
    }

    // MARK: Tables

    private var totals: [String] {
        var traffic = [["", "requests", "sent", "received", "connections", "reused", "round trips", "exposures"]]
        var events = [["", "accepted", "delivered", "pending", "purged", "dropped", "repeated", "lost"]]
        for vendor in comparison.vendors {
            let all = vendor.traffic
            traffic.append([
                vendor.name, String(all.requests), Wording.bytes(all.bytesSent), Wording.bytes(all.bytesReceived),
                String(all.connections), all.reuse.map { "\($0) %" } ?? "–", String(all.roundTrips),
                String(vendor.exposures),
            ])
            let ledger = vendor.ledger
            let dropped = ledger.dropped.values.reduce(0, +)
            events.append(
                [vendor.name]
                    + [ledger.accepted, ledger.delivered, ledger.pending, ledger.purged, dropped].map(String.init)
                    + [Wording.figure(vendor.repeated), Wording.figure(vendor.lost)]
            )
        }
        return ["", palette.bold("The whole story")] + TextLayout.table(traffic)
            + ["", palette.bold("What became of events")] + TextLayout.table(events)
    }

    private var fidelity: [String] {
        let stories = comparison.vendors.filter { !$0.fidelity.isEmpty }
        guard !stories.isEmpty else { return [] }
        var lines = ["", palette.bold("What of an event arrives")]
        for vendor in stories {
            lines.append("  \(vendor.name)")
            let all = ("every event", vendor.commonFidelity ?? "–")
            let groups = [all] + vendor.fidelityGroups.map { ($0.types.joined(separator: ", "), $0.sentence) }
            lines += groups.flatMap { TextLayout.item("\($0): \($1)", "    - ") }
        }
        return lines
    }

    private var questions: [String] {
        let blocks = comparison.questions.flatMap { question -> [String] in
            let answers = comparison.vendors.map { ($0.name, comparison.answer(to: question, by: $0) ?? "not reached") }
            let isOne = Set(answers.map(\.1)).count == 1 && answers.count > 1
            let shown = isOne ? [("all", answers[0].1)] : answers
            return ["  \(question.title)"]
                + shown.flatMap { TextLayout.item($1, "      " + $0.padded(to: nameWidth)) }
        }
        return blocks.isEmpty ? [] : ["", palette.bold("Questions that the story answers")] + blocks
    }

    private var capabilities: [String] {
        var rows = [[""] + comparison.vendors.map(\.name)]
        for capability in Capability.all {
            rows.append(
                [capability.rawValue]
                    + comparison.vendors.map { vendor in
                        guard vendor.capabilities.contains(capability) else { return "–" }
                        return vendor.evidence.isInferred(capability) ? "(yes)" : "yes"
                    }
            )
        }
        let grounds = EvidenceWording.lines(of: comparison)
        return ["", palette.bold("What the adapters declare")] + TextLayout.table(rows)
            + (grounds.isEmpty ? [] : ["", "  (yes) rests on what is inferred of the vendor."])
            + grounds.flatMap { line in
                TextLayout.wrap(line, to: Self.width - 4).enumerated().map { ($0 == 0 ? "  " : "    ") + $1 }
            }
    }

    private var failures: [String] {
        section(
            "Ended early",
            comparison.vendors.compactMap { vendor in vendor.failure.map { "\(vendor.name): \($0)" } }
        ) { palette.bad($0) }
    }

    private var gaps: [String] {
        section(
            "What the vendors can't hold of this world",
            comparison.vendors.flatMap { vendor in vendor.gaps.map { "\(vendor.name) can't hold \($0)" } }
        ) { $0 }
    }

    private func section(_ title: String, _ items: [String], _ colored: (String) -> String) -> [String] {
        guard !items.isEmpty else { return [] }
        let lines = items.flatMap { TextLayout.wrap($0, to: Self.width - 2) }
        return ["", palette.bold(title)] + lines.map { colored("  \($0)") }
    }
}
