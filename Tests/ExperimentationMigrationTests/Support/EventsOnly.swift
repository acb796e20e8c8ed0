import Experimentation
import ExperimentationTesting

/// An in-memory vendor that takes events and decides nothing.
struct EventsOnly: ExperimentationProvider {
    let vendor: InMemoryProvider
    var name: String { vendor.name }
    var scope: String { vendor.scope }
    var capabilities: Set<Capability> { [.tracking] }

    init(_ vendor: InMemoryProvider) { self.vendor = vendor }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await vendor.start(in: context)
        (roles.decisions, roles.changes) = (nil, nil)
        return roles
    }
}

/// A vendor that decides for each user when asked, by an in-memory vendor's rules; on request it takes no events.
struct Asked: ExperimentationProvider {
    let vendor: InMemoryProvider
    var takesEvents = true
    var name: String { vendor.name }
    var scope: String { vendor.scope }
    var capabilities: Set<Capability> { vendor.capabilities }

    init(_ vendor: InMemoryProvider, takesEvents: Bool = true) {
        self.vendor = vendor
        self.takesEvents = takesEvents
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await vendor.start(in: context)
        guard case .computed(let rules) = roles.decisions else { return roles }
        roles.decisions = .asked(Source(rules: rules))
        roles.changes = nil
        if !takesEvents { roles.events = nil }
        return roles
    }

    private struct Source: DecisionSource {
        let rules: any RulesetSource
        var freshness: Freshness { Freshness() }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            guard case .replaced(let ruleset, _, _) = try await rules.ruleset(ifNot: nil) else { return .disabled }
            let all = ruleset.decisions(for: context)
            // What is on the wire for one user names only this user's variations.
            let assignments = all.assignments
            let flags = all.keys.compactMap { key in
                all[key].map { found -> (key: String, resolution: Resolution) in
                    var own = found
                    own.assignment = found.assignment.flatMap { index in
                        assignments.firstIndex(of: all.catalogue.assignments[index])
                    }
                    return (key, own)
                }
            }
            return .decided(Decisions(flags: flags, assignments: assignments))
        }
    }
}
