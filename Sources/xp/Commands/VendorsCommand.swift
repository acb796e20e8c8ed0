import ArgumentParser
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationComposition

/// The command `xp vendors`.
struct VendorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vendors",
        abstract: "List the vendors with their adapters' capabilities.",
        discussion: """
            With a configuration, lists its vendor; for a composition, the composition first, then its vendors.

            EXAMPLES
              xp vendors
              xp vendors --format json
              xp vendors --config composed.yaml
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, markdown }

    @Option(help: "The output format.")
    var format: Format = .text

    @Option(help: ArgumentHelp("A configuration whose vendors are listed instead of all.", valueName: "file"))
    var config: String?

    func run() async throws {
        let matrix = CapabilityMatrix(columns: try config.map { try columns(of: Configuration(at: $0)) } ?? everyVendor)
        switch format {
        case .text: try Terminal.write(matrix.text)
        case .json: try Terminal.write(JSONLine.pretty(matrix.document))
        case .markdown: try Terminal.write(matrix.markdown)
        }
    }

    private var everyVendor: [CapabilityMatrix.Column] {
        Vendor.all.map { vendor in
            CapabilityMatrix.Column(
                name: vendor.name,
                capabilities: vendor.capabilities,
                reasons: vendor.reasons,
                modes: vendor.subjects.map(\.name),
                evidence: vendor.subjects.first?.evidence ?? Evidence()
            )
        }
    }

    private func columns(of configuration: Configuration) throws -> [CapabilityMatrix.Column] {
        let provider = try configuration.provider()
        guard let composed = provider as? ComposedProvider else { return [column(provider, as: provider.name)] }
        var whole = column(composed, as: composed.name)
        let names = composed.vendors.map(\.name).joined(separator: ", ")
        for capability in Capability.all where !whole.capabilities.contains(capability) {
            whole.reasons[capability] = "the tables use no vendor of \(names) that has it"
        }
        return [whole] + composed.vendors.map { column($0.provider, as: $0.name) }
    }

    private func column(_ provider: any ExperimentationProvider, as name: String) -> CapabilityMatrix.Column {
        let vendor = Vendor.configurable.first { $0.name == provider.name }
        return CapabilityMatrix.Column(
            name: name,
            capabilities: provider.capabilities,
            reasons: vendor?.reasons ?? [:],
            modes: [name],
            evidence: vendor?.subjects.first?.evidence ?? Evidence()
        )
    }
}
