import ConformanceKit
import Experimentation

/// The vendors' capabilities, side by side.
struct CapabilityMatrix {
    /// One vendor.
    struct Column {
        let name: String
        let capabilities: Set<Capability>
        /// Why each missing capability is missing.
        var reasons: [Capability: String]
        let modes: [String]
        var evidence = Evidence()

        func reason(_ capability: Capability) -> String { reasons[capability] ?? "\(name) has nothing like it" }
    }

    let columns: [Column]

    /// The matrix as JSON.
    var document: FlagValue {
        [
            "capabilities": .array(Capability.all.map { .string($0.rawValue) }),
            "vendors": .array(
                columns.map { column in
                    let missing = Capability.all.filter { !column.capabilities.contains($0) }
                    return [
                        "name": .string(column.name),
                        "capabilities": .array(
                            Capability.all.filter(column.capabilities.contains).map { .string($0.rawValue) }
                        ),
                        "unsupported": .object(
                            Dictionary(
                                missing.map { ($0.rawValue, .string(column.reason($0))) },
                                uniquingKeysWith: { $1 }
                            )
                        ),
                        "modes": .array(column.modes.map { .string($0) }),
                        "evidence": column.evidence.document,
                    ]
                }
            ),
        ]
    }

    /// The matrix as text.
    var text: String {
        let width = Capability.all.map(\.rawValue.count).max() ?? 0
        let names = columns.map(\.name)
        func line(_ head: String, _ cells: [String]) -> String {
            let columns = zip(cells, names).map { cell, name in
                cell + String(repeating: " ", count: max(0, name.count - cell.count))
            }
            let first = head + String(repeating: " ", count: max(0, width - head.count))
            return ([first] + columns).joined(separator: "  ")
        }
        let rows = Capability.all.map { capability in
            line(
                capability.rawValue,
                columns.map { column in
                    guard column.capabilities.contains(capability) else { return "–" }
                    return column.evidence.isInferred(capability) ? "(yes)" : "yes"
                }
            )
        }
        return ([line("", names)] + rows + grounds.map(\.text)).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        .joined(separator: "\n") + "\n"
    }

    /// The sources of the table: how capabilities, mock rules and samples are known.
    private var grounds: [(text: String, isList: Bool)] {
        let told = columns.filter { $0.evidence != Evidence() }
        guard !told.isEmpty else { return [] }
        var lines: [(text: String, isList: Bool)] = [("", false), (Self.legend, false), ("", false)]
        for column in told {
            let ways = Provenance.allCases.compactMap { way -> String? in
                let known = Capability.all.filter {
                    column.capabilities.contains($0) && column.evidence.provenance(of: $0) == way
                }
                return known.isEmpty ? nil : "\(way.rawValue): \(known.map(\.rawValue).joined(separator: ", "))"
            }
            let rules = column.evidence.counts.filter { $0.rules > 0 }.map { "\($0.rules) \($0.provenance.rawValue)" }
            let samples = column.evidence.counts.filter { $0.fixtures > 0 }
                .map { "\($0.fixtures) \($0.provenance.rawValue)" }
            let grounds =
                ways + [
                    "rules of its mock: \(rules.joined(separator: ", "))",
                    "samples: \(samples.joined(separator: ", "))",
                ]
            lines.append(("\(column.name): \(grounds.joined(separator: "; "))", true))
        }
        return lines
    }

    private static let legend = "(yes) rests on what is inferred of the vendor; JSON has every rule and sample."

    /// The matrix as Markdown.
    var markdown: String {
        let head = ["|  | " + columns.map(\.name).joined(separator: " | ") + " |"]
        let rule = ["|---|" + String(repeating: "---|", count: columns.count)]
        let rows = Capability.all.map { capability in
            let cells = columns.map { column in
                column.capabilities.contains(capability)
                    ? column.evidence.tick(capability) : column.reason(capability).replacing("|", with: "\\|")
            }
            return "| `\(capability.rawValue)` | " + cells.joined(separator: " | ") + " |"
        }
        let below = grounds.map { $0.isList ? "- " + $0.text : $0.text.replacing("(yes)", with: "(✓)") }
        return (head + rule + rows + below).joined(separator: "\n") + "\n"
    }
}
