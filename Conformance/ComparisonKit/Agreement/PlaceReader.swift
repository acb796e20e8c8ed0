import Experimentation

/// Extracts a user's places in the compared experiments from decisions.
///
/// Rulesets have one catalogue for all users, so each of its assignments is resolved only once.
struct PlaceReader: Sendable {
    /// A user's place in an experiment.
    struct Place: Sendable, Hashable {
        /// The variation, or -1 for none.
        var variation = -1
        /// Whether it was allocated rather than taken from a list.
        var isDrawn = false
    }

    private enum Meaning: Sendable {
        case nothing
        case holdout
        case place(experiment: Int, Place)
    }

    private let experiments: [TestedExperiment]
    private let catalogue: FlagCatalogue?
    private let meanings: [Meaning]

    init(_ decider: Decider) {
        experiments = decider.experiments
        guard case .computed(let ruleset) = decider.source else {
            catalogue = nil
            meanings = []
            return
        }
        let known = ruleset.catalogue
        catalogue = known
        meanings = known.assignments.map { [experiments] in Self.meaning(of: $0, in: experiments) }
    }

    private static func meaning(of assignment: Assignment, in experiments: [TestedExperiment]) -> Meaning {
        if assignment.isHoldout { return .holdout }
        for (index, experiment) in experiments.enumerated() {
            guard let variation = experiment.variation(of: assignment) else { continue }
            return .place(experiment: index, Place(variation: variation, isDrawn: experiment.isDrawn(assignment)))
        }
        return .nothing
    }

    /// Extracts the places.
    ///
    /// - Parameters:
    ///   - decisions: The decisions.
    ///   - places: Filled with one place per experiment.
    /// - Returns: Whether the user is in a holdout.
    func read(_ decisions: Decisions, into places: inout [Place]) -> Bool {
        for index in places.indices { places[index] = Place() }
        var isHeldOut = false
        func note(_ meaning: Meaning) {
            switch meaning {
            case .nothing: break
            case .holdout: isHeldOut = true
            case .place(let experiment, let place): places[experiment] = place
            }
        }
        if decisions.catalogue === catalogue {
            decisions.visitAssignments { note(meanings[$0]) }
        } else {
            for assignment in decisions.assignments { note(Self.meaning(of: assignment, in: experiments)) }
        }
        return isHeldOut
    }

    /// The assignment to import so that a user keeps a variation: the group that stickiness uses, and the variation's
    /// id.
    func handOver(experiment: Int, variation: Int) -> (group: String, variation: String) {
        let tested = experiments[experiment]
        let own = catalogue?.assignments.filter { tested.variation(of: $0) == variation } ?? []
        let place = own.first { tested.isDrawn($0) } ?? own.first
        return (
            place?.group ?? tested.group ?? tested.id,
            place?.variation.id ?? tested.variations[variation].id
        )
    }
}
