import Experimentation

/// A vendor that is asked for each user and answers as scripted.
struct ScriptedVendor: ExperimentationProvider {
    /// A scripted answer.
    enum Answer: Sendable {
        case flags([(key: String, resolution: Resolution)], [Assignment] = [], after: Duration = .zero)
        case failure(ExperimentationError)
    }

    let name: String
    let answer: @Sendable (User) -> Answer
    var scope: String { "" }
    var capabilities: Set<Capability> { [.flags, .experiments, .overrides] }

    init(_ name: String, _ answer: @escaping @Sendable (User) -> Answer) {
        self.name = name
        self.answer = answer
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        var roles = ProviderRoles(decisions: .asked(Source(answer: answer, time: context.environment.time)))
        roles.assignments.allowsOverrides = true
        return roles
    }

    private struct Source: DecisionSource {
        let answer: @Sendable (User) -> Answer
        let time: any TimeSource
        var freshness: Freshness { Freshness() }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            switch answer(context.user) {
            case .flags(let flags, let assignments, let wait):
                if wait > .zero { try? await time.sleep(for: wait) }
                return .decided(Decisions(flags: flags, assignments: assignments))
            case .failure(let error): throw error
            }
        }
    }
}
