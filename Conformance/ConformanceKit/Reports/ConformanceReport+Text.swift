import Experimentation

extension ConformanceReport {
    /// The report as plain text: a line per case, a reason for each that isn't `passed`, and the story of each failure.
    ///
    /// - Parameter stories: Whether to include the stories of failures.
    /// - Returns: The text, ending with a line feed.
    public func text(stories: Bool = true) -> String {
        var lines: [String] = []
        for subject in subjects {
            lines.append("\(subject.name.onOneLine): \(subject.sentence)")
            lines += subject.accountLines.map { "  " + $0 }
            let width = min(60, subject.results.map(\.name.count).max() ?? 0)
            for result in subject.results {
                let name = result.name.padded(to: width)
                let word = subject.restsOnInference(result) ? "(passed)" : result.outcome.word
                let line = "  \(word.padded(to: 11)) \(name)"
                lines.append(result.outcome.explanation.map { "\(line)  \($0.onOneLine)" } ?? line.trimmed)
                if stories, result.outcome.isFailure { lines += result.storyLines.map { "      " + $0 } }
            }
            lines.append("")
        }
        if subjects.contains(where: { $0.results.contains(where: $0.restsOnInference) }) {
            lines.append("(passed): it \(Evidence.restingOnInference).")
        }
        lines.append(headline)
        lines.append(verdict)
        return lines.joined(separator: "\n") + "\n"
    }

    /// The result in a sentence.
    var verdict: String {
        if !isSuccess { return "A promise is broken." }
        return isIdle ? "No case was run." : "Every declared promise is kept."
    }

    /// Whether every case was skipped.
    var isIdle: Bool { subjects.allSatisfy(\.results.isEmpty) && isSuccess }

    /// The suite's version, the date and the platform.
    var headline: String {
        let when = date.map { ", \($0.iso8601Milliseconds)" } ?? ""
        return "Suite \(suite), \(platform.onOneLine)\(when)."
    }
}

extension ConformanceReport.Subject {
    /// The declared capabilities with their evidence, the skipped cases and the fields missing from the wire, a line
    /// each.
    var accountLines: [String] {
        var lines: [String] = []
        let declared = "declares \(capabilities.count)" + (isWhole ? ", verified \(verified.count)" : "")
        lines.append(version.map { "version \($0), \(declared)".onOneLine } ?? declared)
        for way in Provenance.allCases {
            let known = capabilities.filter { evidence.provenance(of: $0) == way }
            if !known.isEmpty {
                lines.append("\(way.rawValue): \(known.map(\.rawValue).joined(separator: ", "))".onOneLine)
            }
        }
        if !evidence.rules.isEmpty || !evidence.fixtures.isEmpty { lines.append(groundLine) }
        if !wireReasons.isEmpty {
            let untold = wireReasons.keys.map(\.rawValue).sorted().joined(separator: ", ")
            lines.append("not told by the wire: \(untold)")
        }
        if !skipped.isEmpty { lines.append("left out on request: \(skipped.joined(separator: ", "))".onOneLine) }
        return lines
    }

    /// The number of the mock's rules and samples by provenance.
    var groundLine: String {
        func list(_ count: KeyPath<(provenance: Provenance, rules: Int, fixtures: Int), Int>) -> String {
            let parts = evidence.counts.compactMap { way in
                way[keyPath: count] == 0 ? nil : "\(way[keyPath: count]) \(way.provenance.rawValue)"
            }
            return parts.isEmpty ? "none" : parts.joined(separator: ", ")
        }
        return "rules of the mock: \(list(\.rules)); samples: \(list(\.fixtures))"
    }
}

extension ConformanceReport.Subject {
    /// The number of cases by outcome, in a sentence.
    var sentence: String {
        let counts = counts
        let parts = ConformanceReport.words.compactMap { word in counts[word].map { "\($0) \(word)" } }
        let unseen = unproven.map { "declared, but shown by no case: \($0)".onOneLine }
        let idle = idleDeviations.map {
            "recorded as a deviation, but of no case that was tried: \($0.caseName)".onOneLine
        }
        let run = parts.isEmpty ? ["no case was run"] : parts
        return (run + unseen + idle).joined(separator: ", ")
    }
}

extension Outcome {
    /// Why the case isn't passed, with a link if there is one.
    var explanation: String? {
        guard case .deviates(let record, _) = self, let link = record.link else { return reason }
        return "\(record.reason) (\(link))"
    }
}

extension CaseResult {
    /// The outcome, the unmet expectations, the steps and the exchanges, as text.
    public var account: String {
        let reason = outcome.explanation.map { ": \($0.onOneLine)" } ?? ""
        return (["\(name): \(outcome.word)\(reason)"] + storyLines).joined(separator: "\n")
    }

    /// The story as text: the expectations, the steps, and the exchanges in full.
    var storyLines: [String] {
        var lines = summaryLines
        if !story.exchanges.isEmpty {
            lines.append("What went over the wire:")
            for exchange in story.exchanges {
                lines.append("  " + exchange.sentence.onOneLine)
                lines += Self.shown(exchange.request, after: "→ ")
                if let response = exchange.response { lines += Self.shown(response, after: "← ") }
            }
        }
        return lines
    }

    /// The expectations and the steps, without the exchanges.
    var summaryLines: [String] {
        var lines = outcome.failures.map { "✘ \($0)".onOneLine }
        if !story.steps.isEmpty {
            lines.append("What happened:")
            lines += story.steps.enumerated().map { "  \($0 + 1). \($1.onOneLine)" }
        }
        return lines
    }

    private static let longest = 1_000

    private static func shown(_ text: String, after arrow: String) -> [String] {
        guard !text.isEmpty else { return [] }
        let clipped = text.count > longest ? text.prefix(longest) + "…" : text[...]
        return clipped.split(whereSeparator: \.isNewline).enumerated().map { index, line in
            "     " + (index == 0 ? arrow : "  ") + String(line).onOneLine
        }
    }
}

extension Exchange {
    /// The exchange in one line.
    var sentence: String {
        let answer = status.map { String($0) } ?? "no answer"
        return "\(number). \(method) \(path) → \(answer)\(fault.map { " (\($0))" } ?? "")"
    }
}

extension ConformanceReport.Subject {
    /// The reasons for unsupported cases, each once with the names of its cases.
    var lacks: [(reason: String, names: [String])] {
        var reasons: [String] = []
        var names: [String: [String]] = [:]
        for result in results {
            guard case .unsupported(let reason) = result.outcome else { continue }
            if names[reason] == nil { reasons.append(reason) }
            names[reason, default: []].append(result.name)
        }
        return reasons.map { ($0, names[$0] ?? []) }
    }
}

extension String {
    package func padded(to width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }

    /// The text in one line, without invisible characters.
    ///
    /// Text from a subject in another process may contain line breaks, which could forge lines of a report, and control
    /// characters, which terminals interpret.
    package var onOneLine: String {
        guard unicodeScalars.contains(where: \.isUnseen) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            let isBreak = scalar.properties.isWhitespace
            text.unicodeScalars.append(!scalar.isUnseen ? scalar : isBreak ? " " : "\u{FFFD}")
        }
        return text
    }

    package var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether the character is invisible but affects the display: controls, line breaks, changes of direction.
    var isUnseen: Bool {
        switch value {
        case 0xFFFE, 0xFFFF: true
        default: !OneLine.isPlain(self)
        }
    }
}
