import ConformanceKit
import Experimentation
import ExperimentationComposition

extension ComposedSubject {
    /// The part of a world that a vendor holds: the flags that the table sends there, and their experiments; everything
    /// if the table has no rows.
    func world(of part: Part, in world: World) -> World {
        guard !decisions.rows.isEmpty else { return world }
        func isOwn(_ key: String) -> Bool {
            decisions.vendors(for: key).map { $0.contains(part.name) } ?? true
        }
        let capabilities = part.subject.capabilities
        return world.changing { own in
            own.flags.removeAll { !isOwn($0.key) }
            own.experiments.removeAll { experiment in
                let keys = world.flags.filter { $0.experiment == experiment.id }.map(\.key)
                return keys.isEmpty ? !isOwn(experiment.id) : !keys.contains(where: isOwn)
            }
            if !capabilities.contains(.holdouts) { own.holdouts = [] }
        }
    }

    /// What a vendor uses of its part of a world: neither flags nor experiments nor holdouts if it has no flags.
    func heeds(_ part: Part, _ world: World) -> World {
        let own = self.world(of: part, in: world)
        guard !part.subject.capabilities.contains(.flags) else { return own }
        return own.changing { own in (own.flags, own.experiments, own.holdouts) = ([], [], []) }
    }
}
