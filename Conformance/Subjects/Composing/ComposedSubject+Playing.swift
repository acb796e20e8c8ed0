import ConformanceKit
import Experimentation
import ExperimentationComposition

extension ComposedSubject {
    /// Creates a composition that runs its vendors on their mocks; a vendor without one is omitted, with its table rows.
    ///
    /// - Parameter provider: The composition; the settings of its vendors are ignored.
    public init(playing provider: ComposedProvider) {
        let parts = provider.vendors.compactMap { vendor -> Part? in
            let subjects = Vendor.configurable.first { $0.name == vendor.provider.name }?.subjects ?? []
            let fitting = subjects.first { $0.capabilities == vendor.provider.capabilities } ?? subjects.first
            return fitting.map { Part(vendor.name, $0) }
        }
        let names = Set(parts.map(\.name))
        self.init(
            provider.name,
            of: parts,
            decisions: provider.decisions,
            events: EventTable(provider.events.rows.mapValues { $0.filter(names.contains) }),
            exposures: provider.exposures
        )
    }
}
