import Experimentation

/// Maps rules to a flag's values in the catalogue, computed once for all users.
struct OutcomeIndex: Sendable {
    let catalogue: FlagCatalogue

    /// For each flag: the outcomes of its own rules, of each placement's rules by group and origin, and of no value.
    private let flags: [Flag]
    /// For each experiment: where its assignments begin in the catalogue.
    private let places: [Int]

    private struct Flag: Sendable {
        var own: [Int] = []
        var placed: [[[Int]]] = []
        var none = 0
    }

    private static let origins: [Assignment.Origin] = [.allocated, .forcedByVendor, .forcedHere]

    init(_ project: SigmaProject) {
        var assignments: [Assignment] = []
        var places: [Int] = []
        for experiment in project.experiments {
            places.append(assignments.count)
            for group in experiment.groups.indices {
                for origin in Self.origins {
                    assignments.append(SigmaTranslation.assignment(in: experiment, group: group, origin))
                }
            }
        }
        self.places = places

        var catalogued: [FlagCatalogue.Flag] = []
        flags = project.flags.map { flag in
            var found = Flag()
            var outcomes = Outcomes()
            found.own = (flag.rules ?? []).map { rule in
                outcomes.index(of: SigmaTranslation.resolution(of: rule, in: flag))
            }
            found.placed = flag.placements.map { placement in
                let experiment = project.experiments[placement.experiment]
                return placement.rules.enumerated().map { group, rules in
                    (rules ?? []).flatMap { rule in
                        Self.origins.indices.map { origin in
                            outcomes.index(
                                of: SigmaTranslation.resolution(
                                    of: rule,
                                    type: placement.type,
                                    in: experiment,
                                    group: group,
                                    Self.origins[origin],
                                    assignment: places[placement.experiment] + group * Self.origins.count + origin
                                )
                            )
                        }
                    }
                }
            }
            found.none = outcomes.index(of: SigmaTranslation.noValue)
            catalogued.append(.init(flag.name, outcomes: outcomes.all))
            return found
        }
        catalogue = FlagCatalogue(flags: catalogued, assignments: assignments)
    }

    func outcome(of answer: FlagAnswer, forFlag flag: Int) -> Int {
        switch answer {
        case .placed(let placement, let rule, let group, let origin):
            flags[flag].placed[placement][group][rule * Self.origins.count + Self.position(of: origin)]
        case .own(let rule): flags[flag].own[rule]
        case .unavailable, .noRules, .noRuleSatisfied: flags[flag].none
        }
    }

    func assignment(for membership: Membership, in experiment: Int) -> Int? {
        guard case .inside(let group, let origin) = membership else { return nil }
        return places[experiment] + group * Self.origins.count + Self.position(of: origin)
    }

    private static func position(of origin: Assignment.Origin) -> Int {
        switch origin {
        case .allocated, .sticky: 0
        case .forcedByVendor: 1
        case .forcedHere: 2
        }
    }

    /// The distinct values of one flag.
    private struct Outcomes {
        private(set) var all: [Resolution] = []
        private var known: [Resolution: Int] = [:]

        mutating func index(of resolution: Resolution) -> Int {
            if let index = known[resolution] { return index }
            known[resolution] = all.count
            all.append(resolution)
            return all.count - 1
        }
    }
}
