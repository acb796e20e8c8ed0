import ConformanceKit
import Experimentation

/// What vendors can do, one beside the other.
struct CapabilityMatrix {
    /// One vendor.
    struct Column {
        let name: String
        let capabilities: Set<Capability>
        /// Why what it can't do isn't there.
        var reasons: [Capability: String]
        let modes: [String]

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
                    ]
                }
            ),
        ]
    }

    /// The matrix for people.
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
            line(capability.rawValue, columns.map { $0.capabilities.contains(capability) ? "yes" : "–" })
        }
        return ([line("", names)] + rows).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        .joined(separator: "\n") + "\n"
    }

    /// The matrix for a page.
    var markdown: String {
        let head = ["|  | " + columns.map(\.name).joined(separator: " | ") + " |"]
        let rule = ["|---|" + String(repeating: "---|", count: columns.count)]
        let rows = Capability.all.map { capability in
            let cells = columns.map { column in
                column.capabilities.contains(capability)
                    ? "✓" : column.reason(capability).replacing("|", with: "\\|")
            }
            return "| `\(capability.rawValue)` | " + cells.joined(separator: " | ") + " |"
        }
        return (head + rule + rows).joined(separator: "\n") + "\n"
    }
}
