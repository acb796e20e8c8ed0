import Experimentation

/// A vendor that answers each question after ten seconds.
struct HangingProvider: ExperimentationProvider {
    var name: String { "hanging" }
    var scope: String { "" }
    var capabilities: Set<Capability> { [.flags, .experiments, .stickyAssignments, .overrides] }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = ProviderRoles(decisions: .asked(Source(time: context.environment.time)))
        roles.assignments.allowsOverrides = true
        return roles
    }

    private struct Source: DecisionSource {
        let time: any TimeSource
        var freshness: Freshness { Freshness() }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            try? await time.sleep(for: .seconds(10))
            return .decided(.none)
        }
    }
}
