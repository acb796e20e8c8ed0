/// An experiment of the old vendor and its continuation at the new vendor.
public struct ExperimentMapping: Sendable, Hashable, Codable {
    /// An experiment's ids at one vendor.
    public struct Place: Sendable, Hashable, Codable {
        /// The experiment's id.
        public var experiment: String
        /// The group under which that vendor keeps sticky assignments; the experiment's id by default.
        public var group: String

        /// Creates a place.
        public init(_ experiment: String, group: String? = nil) {
            self.experiment = experiment
            self.group = group ?? experiment
        }
    }

    /// The experiment at the old vendor.
    public var old: Place
    /// The experiment at the new vendor.
    public var new: Place
    /// The new vendor's variation for each variation of the old vendor.
    public var variations: [String: String]
    /// The intended share of users of each of the old vendor's variations, in any unit; may be empty.
    public var weights: [String: Double]

    /// Creates a mapping of one experiment.
    public init(old: Place, new: Place, variations: [String: String], weights: [String: Double] = [:]) {
        self.old = old
        self.new = new
        self.variations = variations
        self.weights = weights
    }

    /// Returns the experiment's ids at a vendor.
    public func place(at side: MigrationSide) -> Place { side == .old ? old : new }
}

/// Which experiments, groups and variations of the two vendors correspond, in both directions.
public struct Mapping: Sendable, Hashable {
    /// The experiments.
    public let experiments: [ExperimentMapping]
    private let byOldGroup: [String: Int]
    private let byNewGroup: [String: Int]
    private let back: [[String: String]]

    /// Creates a mapping; check it with ``faults()``.
    public init(_ experiments: [ExperimentMapping] = []) {
        self.experiments = experiments
        let places = experiments.indices
        byOldGroup = Dictionary(places.map { (experiments[$0].old.group, $0) }, uniquingKeysWith: { one, _ in one })
        byNewGroup = Dictionary(places.map { (experiments[$0].new.group, $0) }, uniquingKeysWith: { one, _ in one })
        back = experiments.map { experiment in
            Dictionary(experiment.variations.map { ($1, $0) }, uniquingKeysWith: { one, _ in one })
        }
    }

    /// Returns the experiment of a vendor's group.
    public func experiment(ofGroup group: String, at side: MigrationSide) -> ExperimentMapping? {
        index(ofGroup: group, at: side).map { experiments[$0] }
    }

    /// Translates a variation to the other vendor.
    ///
    /// - Parameters:
    ///   - variation: The variation's id.
    ///   - group: Its group.
    ///   - side: The vendor of both ids.
    /// - Returns: The other vendor's id; `nil` if it isn't mapped.
    public func translate(_ variation: String, ofGroup group: String, from side: MigrationSide) -> String? {
        guard let index = index(ofGroup: group, at: side) else { return nil }
        return side == .old ? experiments[index].variations[variation] : back[index][variation]
    }

    func index(ofGroup group: String, at side: MigrationSide) -> Int? {
        side == .old ? byOldGroup[group] : byNewGroup[group]
    }
}

/// A fault of a plan, and where it is.
public struct PlanFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The location, as `mapping[0].variations.green`; empty for the whole plan.
    public var key: String
    /// The fault, for people.
    public var problem: String

    /// Creates a fault.
    public init(_ key: String, _ problem: String) {
        self.key = key
        self.problem = problem
    }

    /// The location and the fault.
    public var description: String { key.isEmpty ? problem : "\"\(key)\": \(problem)" }
}

extension Mapping {
    /// Returns the mapping's own faults: ids that are mapped twice or missing.
    public func faults() -> [PlanFault] {
        var faults: [PlanFault] = []
        var groups: [MigrationSide: Set<String>] = [.old: [], .new: []]
        for (index, experiment) in experiments.enumerated() {
            let key = "mapping[\(index)]"
            for side in MigrationSide.allCases {
                let group = experiment.place(at: side).group
                if group.isEmpty { faults.append(PlanFault("\(key).\(side)", "expected the id of an experiment")) }
                if !(groups[side, default: []].insert(group).inserted) {
                    faults.append(PlanFault("\(key).\(side)", "\"\(group)\" is mapped twice"))
                }
            }
            if experiment.variations.isEmpty { faults.append(PlanFault("\(key).variations", "no variation is mapped")) }
            var taken: [String: String] = [:]
            for (old, new) in experiment.variations.sorted(by: { $0.key < $1.key }) {
                if let other = taken.updateValue(old, forKey: new) {
                    faults.append(
                        PlanFault("\(key).variations.\(old)", "\"\(new)\" is mapped twice: from \"\(other)\" as well")
                    )
                }
            }
            for (variation, weight) in experiment.weights.sorted(by: { $0.key < $1.key }) {
                let place = "\(key).weights.\(variation)"
                if !weight.isFinite || weight < 0 {
                    faults.append(PlanFault(place, "expected a number from 0 on, found \(weight)"))
                }
                if experiment.variations[variation] == nil {
                    faults.append(PlanFault(place, "there is no variation \"\(variation)\" in this mapping"))
                }
            }
        }
        return faults
    }
}
