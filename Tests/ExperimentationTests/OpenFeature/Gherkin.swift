import Testing

/// A runnable scenario, including its background and example row.
struct GherkinScenario: Sendable, CustomTestStringConvertible {
    struct Step: Sendable {
        var text: String
        var table: [[String]] = []
    }

    var feature: String
    var name: String
    var tags: Set<String>
    var steps: [Step]

    var testDescription: String { name }
}

/// Reads feature files: features, backgrounds, scenarios, outlines with examples, tables, tags and comments.
struct GherkinReader {
    private enum Place { case background, steps, examples, nowhere }

    private struct Draft {
        var name: String
        var tags: Set<String>
        var steps: [GherkinScenario.Step] = []
        var examples: [(tags: Set<String>, rows: [[String]])] = []
    }

    private var feature = ""
    private var featureTags: Set<String> = []
    private var background: [GherkinScenario.Step] = []
    private var drafts: [Draft] = []
    private var place = Place.nowhere
    private var pendingTags: Set<String> = []

    /// Parses a feature file; returns one scenario for each row of examples.
    static func scenarios(in text: String) -> [GherkinScenario] {
        var reader = GherkinReader()
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) {
            reader.read(String(line.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0.isWhitespace }.reversed()))
        }
        return reader.expanded
    }

    private mutating func read(_ line: String) {
        if line.isEmpty || line.hasPrefix("#") { return }
        if line.hasPrefix("@") {
            pendingTags.formUnion(line.split(separator: " ").map(String.init))
        } else if let name = line.after("Feature:") {
            feature = name
            featureTags = takeTags()
        } else if line.after("Background:") != nil {
            place = .background
        } else if let name = line.after("Scenario Outline:") ?? line.after("Scenario:") {
            drafts.append(Draft(name: name, tags: takeTags().union(featureTags)))
            place = .steps
        } else if line.after("Examples:") != nil {
            drafts[drafts.count - 1].examples.append((takeTags(), []))
            place = .examples
        } else if line.hasPrefix("|") {
            readRow(line)
        } else if let step = ["Given ", "When ", "Then ", "And ", "But "].lazy.compactMap({ line.after($0) }).first {
            switch place {
            case .background: background.append(.init(text: step))
            case .steps: drafts[drafts.count - 1].steps.append(.init(text: step))
            case .examples, .nowhere: break
            }
        }
    }

    private mutating func readRow(_ line: String) {
        let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast().map { cell in
            String(cell.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        switch place {
        case .examples:
            let last = drafts.count - 1
            drafts[last].examples[drafts[last].examples.count - 1].rows.append(cells)
        case .steps:
            let last = drafts.count - 1
            drafts[last].steps[drafts[last].steps.count - 1].table.append(cells)
        case .background: background[background.count - 1].table.append(cells)
        case .nowhere: break
        }
    }

    private mutating func takeTags() -> Set<String> {
        defer { pendingTags = [] }
        return pendingTags
    }

    private var expanded: [GherkinScenario] {
        drafts.flatMap { draft -> [GherkinScenario] in
            guard !draft.examples.isEmpty else {
                return [
                    GherkinScenario(
                        feature: feature,
                        name: "\(feature): \(draft.name)",
                        tags: draft.tags,
                        steps: background + draft.steps
                    )
                ]
            }
            return draft.examples.enumerated().flatMap { number, examples in
                let head = examples.rows.first ?? []
                return examples.rows.dropFirst().map { row in
                    let values = Dictionary(zip(head, row), uniquingKeysWith: { $1 })
                    func filled(_ text: String) -> String {
                        values.reduce(text) { $0.replacing("<\($1.key)>", with: $1.value) }
                    }
                    let steps = draft.steps.map { step in
                        GherkinScenario.Step(text: filled(step.text), table: step.table.map { $0.map(filled) })
                    }
                    return GherkinScenario(
                        feature: feature,
                        name: "\(feature): \(draft.name) [\(number + 1): \(row.joined(separator: ", "))]",
                        tags: draft.tags.union(examples.tags),
                        steps: background + steps
                    )
                }
            }
        }
    }
}

extension String {
    /// Returns the trimmed text after a prefix; `nil` without the prefix.
    fileprivate func after(_ beginning: String) -> String? {
        guard hasPrefix(beginning) else { return nil }
        return String(dropFirst(beginning.count).drop { $0 == " " })
    }
}
