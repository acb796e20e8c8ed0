import Experimentation

extension Capability {
    /// What one flag in two must not lack: there only if everybody who decides has it.
    private static let ofEveryDecider: Set<Capability> = [
        .flags, .objectFlags, .targeting, .dateTargeting, .versionTargeting, .localEvaluation, .offlineStart,
        .stickyAssignments,
    ]
    /// What is there as soon as somebody who decides has it.
    private static let ofAnyDecider: Set<Capability> = [
        .experiments, .layers, .holdouts, .controlGroups, .overrides,
    ]
    /// What is there as soon as anybody has it.
    private static let ofAnyone: Set<Capability> = [
        .exposures, .tracking, .commerce, .batching, .identityLinking, .campaigns, .consentSignal,
        .controlGroups,
    ]

    /// What several vendors can do together.
    ///
    /// - Parameters:
    ///   - deciding: What each of those can do who decide.
    ///   - all: What each can do, those who decide among them.
    /// - Returns: What the whole declares.
    package static func composed(deciding: [Set<Capability>], all: [Set<Capability>]) -> Set<Capability> {
        var found: Set<Capability> = []
        if let first = deciding.first {
            let common = deciding.dropFirst().reduce(first) { $0.intersection($1) }
            found.formUnion(common.intersection(ofEveryDecider))
            // Who answered is metadata.
            found.insert(.flagMetadata)
        }
        found.formUnion(Set(deciding.joined()).intersection(ofAnyDecider))
        found.formUnion(Set(all.joined()).intersection(ofAnyone))
        // A switch of one of several who decide leaves the others on.
        let switched = deciding.isEmpty ? all : deciding
        if switched.contains(where: { $0.contains(.killSwitch) }),
            deciding.allSatisfy({ $0.contains(.killSwitch) })
        {
            found.insert(.killSwitch)
        }
        // An exposure that its own vendor doesn't take becomes an event of one that does.
        if found.isSuperset(of: [.experiments, .tracking]) { found.insert(.exposures) }
        let taking = all.filter { $0.contains(.tracking) }
        if !taking.isEmpty, taking.allSatisfy({ $0.contains(.eventIDs) }) { found.insert(.eventIDs) }
        return found
    }
}
