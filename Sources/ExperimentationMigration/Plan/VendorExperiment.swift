import Experimentation

/// An experiment as known at one vendor: its variations, and the values of flags in them.
public struct VendorExperiment: Sendable, Hashable {
    /// A variation with its values.
    public struct Arm: Sendable, Hashable {
        /// The variation.
        public var variation: Variation
        /// The values of flags in this variation.
        public var values: [String: FlagValue]

        /// Creates an arm.
        public init(_ variation: Variation, values: [String: FlagValue] = [:]) {
            self.variation = variation
            self.values = values
        }
    }

    /// The experiment.
    public var experiment: Experiment
    /// The group under which sticky assignments are kept.
    public var group: String
    /// Whether it is a holdout.
    public var isHoldout: Bool
    /// The variations, in the vendor's order.
    public var arms: [Arm]

    /// Creates an experiment.
    public init(_ experiment: Experiment, group: String? = nil, isHoldout: Bool = false, arms: [Arm]) {
        self.experiment = experiment
        self.group = group ?? experiment.id
        self.isHoldout = isHoldout
        self.arms = arms
    }

    /// Whether users can be in different variations; `false` for holdouts and single variations.
    public var isTest: Bool { arms.count > 1 && !isHoldout }

    /// Returns the experiments of a vendor's rules.
    public static func all(in catalogue: FlagCatalogue) -> [VendorExperiment] {
        var found: [VendorExperiment] = []
        var arms: [Int: (Int, Int)] = [:]
        for (index, assignment) in catalogue.assignments.enumerated() { arms[index] = note(assignment, in: &found) }
        for (flag, key) in catalogue.keys.enumerated() {
            for outcome in 0..<catalogue.outcomeCount(ofFlag: flag) {
                guard let resolution = catalogue.resolution(ofFlag: flag, outcome: outcome),
                    let place = resolution.assignment.flatMap({ arms[$0] })
                else { continue }
                found[place.0].arms[place.1].values[key] = resolution.value
            }
        }
        return found
    }

    /// Returns the experiments that appear in decisions for some users; others remain unknown.
    public static func all(in answers: [Decisions]) -> [VendorExperiment] {
        var found: [VendorExperiment] = []
        for decisions in answers {
            for experiment in all(in: decisions.catalogue) {
                for arm in experiment.arms {
                    let assignment = Assignment(
                        experiment: experiment.experiment,
                        group: experiment.group,
                        variation: arm.variation,
                        isHoldout: experiment.isHoldout
                    )
                    let place = note(assignment, in: &found)
                    found[place.0].arms[place.1].values.merge(arm.values) { $1 }
                }
            }
        }
        return found
    }

    private static func note(_ assignment: Assignment, in found: inout [VendorExperiment]) -> (Int, Int) {
        var index = found.firstIndex { $0.group == assignment.group } ?? found.count
        if index == found.count {
            found.append(
                VendorExperiment(
                    assignment.experiment,
                    group: assignment.group,
                    isHoldout: assignment.isHoldout,
                    arms: []
                )
            )
            index = found.count - 1
        }
        if let arm = found[index].arms.firstIndex(where: { $0.variation.id == assignment.variation.id }) {
            return (index, arm)
        }
        found[index].arms.append(Arm(assignment.variation))
        return (index, found[index].arms.count - 1)
    }
}
