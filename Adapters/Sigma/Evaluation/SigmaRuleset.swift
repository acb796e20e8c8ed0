import Experimentation
import Foundation

/// A project's configuration, ready to decide for any user.
///
/// Parity of its buckets with the production service is unproven; see ``SigmaBucketing``.
public final class SigmaRuleset: Ruleset {
    /// All flags with their possible values.
    public let catalogue: FlagCatalogue

    let project: SigmaProject
    let surroundings: PropertyReading.Surroundings
    let bucketing: SigmaBucketing
    private let index: OutcomeIndex

    init(_ project: SigmaProject, surroundings: PropertyReading.Surroundings, bucketing: SigmaBucketing) {
        self.project = project
        self.surroundings = surroundings
        self.bucketing = bucketing
        index = OutcomeIndex(project)
        catalogue = index.catalogue
    }

    /// Whether the configuration needs the user's location.
    var wantsPlace: Bool { project.wantsPlace }

    /// Returns the same rules for another location.
    func at(_ place: [String: String]) -> SigmaRuleset {
        SigmaRuleset(self, surroundings: .init(place: place, device: surroundings.device))
    }

    private init(_ other: SigmaRuleset, surroundings: PropertyReading.Surroundings) {
        project = other.project
        self.surroundings = surroundings
        bucketing = other.bucketing
        index = other.index
        catalogue = other.catalogue
    }

    /// Decides all flags for a user; pure and synchronous.
    ///
    /// Each membership is computed once, and a hash only if it can change something.
    public func decisions(for context: EvaluationContext) -> Decisions {
        var evaluation = evaluation(for: context)
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
        var evaluation = evaluation(for: context, remembering: false)
        return index.outcome(of: evaluation.answer(forFlag: flag), forFlag: flag)
    }

    /// `Date.distantFuture`, unless a condition looks at the time or the day.
    public func nextChange(after date: Date) -> Date { project.looksAtClock ? date : .distantFuture }

    func evaluation(for context: EvaluationContext, remembering: Bool = true) -> Evaluation {
        Evaluation(
            project,
            PropertyReading(
                context: context,
                surroundings: surroundings,
                lifetime: project.assumptions.propertyLifetime
            ),
            bucketing,
            remembering: remembering
        )
    }
}
