import Experimentation

/// A provider whose flags another vendor decides, as in a composition: it only takes the events.
///
/// The flag `checkout-color` reads `green` for every user, by the experiment `checkout`.
struct DecidedElsewhere: ExperimentationProvider, DecisionSource {
    let inner: any ExperimentationProvider

    var name: String { inner.name }
    var scope: String { inner.scope }
    var capabilities: Set<Capability> { inner.capabilities.union([.flags, .experiments]) }
    var destination: Destination { inner.destination }

    let freshness = Freshness()

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = try await inner.start(in: context)
        roles.decisions = .asked(self)
        return roles
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let place = Assignment(experiment: Experiment(id: "checkout"), variation: Variation(id: "green"))
        let color = Resolution("green", variant: "green", reason: .split, assignment: 0)
        let flag = FlagCatalogue.Flag("checkout-color", outcomes: [color])
        let catalogue = FlagCatalogue(flags: [flag], assignments: [place])
        return .decided(Decisions(catalogue: catalogue, outcomes: [0], alsoAssigned: [0]))
    }
}
