import ConformanceKit
import Experimentation
import ExperimentationComposition

extension ComposedSubject {
    /// A composition whose vendors play against their mocks; a destination that has none is left out, and its rows with it.
    ///
    /// - Parameter provider: The composition, whose settings of vendors aren't looked at.
    public init(playing provider: ComposedProvider) {
        let parts = provider.vendors.compactMap { vendor -> Part? in
            let subjects = Vendor.named(vendor.provider.name)?.subjects ?? []
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
