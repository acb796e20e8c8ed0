import Experimentation

extension Capability {
    /// Present only if every deciding vendor has it, because any flag may be decided by any of them.
    private static let ofEveryDecider: Set<Capability> = [
        .flags, .objectFlags, .targeting, .dateTargeting, .versionTargeting, .localEvaluation, .offlineStart,
        .stickyAssignments,
    ]
    /// Present if any deciding vendor has it.
    private static let ofAnyDecider: Set<Capability> = [
        .experiments, .layers, .holdouts, .controlGroups, .overrides,
    ]
    /// Present if any vendor has it.
    private static let ofAnyone: Set<Capability> = [
        .exposures, .tracking, .commerce, .batching, .identityLinking, .campaigns, .consentSignal,
        .controlGroups,
    ]

    /// Returns the capabilities of a composition.
    ///
    /// - Parameters:
    ///   - deciding: The capabilities of each deciding vendor.
    ///   - all: The capabilities of each vendor, deciding ones included.
    /// - Returns: The capabilities that the composition declares.
    package static func composed(deciding: [Set<Capability>], all: [Set<Capability>]) -> Set<Capability> {
        var found: Set<Capability> = []
        if let first = deciding.first {
            let common = deciding.dropFirst().reduce(first) { $0.intersection($1) }
            found.formUnion(common.intersection(ofEveryDecider))
            // The composition adds the answering vendor as metadata.
            found.insert(.flagMetadata)
        }
        found.formUnion(Set(deciding.joined()).intersection(ofAnyDecider))
        found.formUnion(Set(all.joined()).intersection(ofAnyone))
        // The kill switch of one of several deciding vendors leaves the others on.
        let switched = deciding.isEmpty ? all : deciding
        if switched.contains(where: { $0.contains(.killSwitch) }),
            deciding.allSatisfy({ $0.contains(.killSwitch) })
        {
            found.insert(.killSwitch)
        }
        // Exposures that the deciding vendor doesn't accept are sent to others as tracking events.
        if found.isSuperset(of: [.experiments, .tracking]) { found.insert(.exposures) }
        let taking = all.filter { $0.contains(.tracking) }
        if !taking.isEmpty, taking.allSatisfy({ $0.contains(.eventIDs) }) { found.insert(.eventIDs) }
        return found
    }
}
