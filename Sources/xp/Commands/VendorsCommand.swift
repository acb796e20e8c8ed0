import ArgumentParser
import ConformanceKit
import ConformanceSubjects
import Experimentation

/// The command `xp vendors`.
struct VendorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vendors",
        abstract: "List the vendors with what their adapters can do.",
        discussion: """
            EXAMPLES
              xp vendors
              xp vendors --format json
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, markdown }

    @Option(help: "How to write the matrix.")
    var format: Format = .text

    func run() async throws {
        switch format {
        case .text: try Terminal.write(text)
        case .json: try Terminal.write(JSONLine.pretty(document))
        case .markdown: try Terminal.write(markdown)
        }
    }

    private var document: FlagValue {
        [
            "capabilities": .array(Capability.all.map { .string($0.rawValue) }),
            "vendors": .array(
                Vendor.all.map { vendor in
                    [
                        "name": .string(vendor.name),
                        "capabilities": .array(
                            Capability.all.filter(vendor.capabilities.contains).map { .string($0.rawValue) }
                        ),
                        "unsupported": .object(
                            Dictionary(
                                Capability.all.filter { !vendor.capabilities.contains($0) }.map {
                                    ($0.rawValue, .string(reason($0, vendor)))
                                },
                                uniquingKeysWith: { $1 }
                            )
                        ),
                        "modes": .array(vendor.subjects.map { .string($0.name) }),
                    ]
                }
            ),
        ]
    }

    private func reason(_ capability: Capability, _ vendor: Vendor) -> String {
        vendor.reasons[capability] ?? "\(vendor.name) has nothing like it"
    }

    private var text: String {
        let width = Capability.all.map(\.rawValue.count).max() ?? 0
        let names = Vendor.all.map(\.name)
        func line(_ head: String, _ cells: [String]) -> String {
            let columns = zip(cells, names).map { cell, name in
                cell + String(repeating: " ", count: max(0, name.count - cell.count))
            }
            let first = head + String(repeating: " ", count: max(0, width - head.count))
            return ([first] + columns).joined(separator: "  ")
        }
        let rows = Capability.all.map { capability in
            line(capability.rawValue, Vendor.all.map { $0.capabilities.contains(capability) ? "yes" : "–" })
        }
        return ([line("", names)] + rows).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        .joined(separator: "\n") + "\n"
    }

    private var markdown: String {
        let head = ["|  | " + Vendor.all.map(\.name).joined(separator: " | ") + " |"]
        let rule = ["|---|" + String(repeating: "---|", count: Vendor.all.count)]
        let rows = Capability.all.map { capability in
            let cells = Vendor.all.map { vendor in
                vendor.capabilities.contains(capability) ? "✓" : reason(capability, vendor).replacing("|", with: "\\|")
            }
            return "| `\(capability.rawValue)` | " + cells.joined(separator: " | ") + " |"
        }
        return (head + rule + rows).joined(separator: "\n") + "\n"
    }
}
