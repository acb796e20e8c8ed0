import Experimentation
import Foundation

/// A project's configuration, ready to decide for any user.
///
/// Parity of its buckets with the production service is unproven; see ``SigmaBucketing``.
public final class SigmaRuleset: Ruleset {
    let project: SigmaProject
    let surroundings: Surroundings
    private let index: OutcomeIndex

    init(_ project: SigmaProject, in surroundings: Surroundings) {
        self.project = project
        self.surroundings = surroundings
        index = OutcomeIndex(project)
    }

    /// All flags with their possible values.
    public var catalogue: FlagCatalogue { index.catalogue }

    /// Decides all flags for a user; pure and synchronous.
    ///
    /// Each membership is computed once, and a hash is computed only if it can change something.
    public func decisions(for context: EvaluationContext) -> Decisions {
        var evaluation = Evaluation(of: project, in: surroundings, for: context)
        let outcomes = project.flags.indices.map { flag -> Int? in
            index.outcome(of: evaluation.answer(forFlag: flag), forFlag: flag)
        }
        let places = project.experiments.indices.compactMap { experiment in
            index.assignment(for: evaluation.membership(in: experiment), in: experiment)
        }
        return Decisions(catalogue: catalogue, outcomes: outcomes, alsoAssigned: places)
    }

    /// Decides one flag for a user, considering only the experiments that the flag is in and those above them.
    public func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard project.flags.indices.contains(flag) else { return nil }
        var evaluation = Evaluation(of: project, in: surroundings, for: context, remembering: false)
        return index.outcome(of: evaluation.answer(forFlag: flag), forFlag: flag)
    }

    /// `Date.distantFuture`, unless a condition looks at the time or the day.
    public func nextChange(after date: Date) -> Date { project.looksAtClock ? date : .distantFuture }
}
