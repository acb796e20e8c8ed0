import ConformanceKit
import Experimentation

/// A vendor's experiment, with what is needed to find a user's place in it and its expected ratio.
public struct TestedExperiment: Sendable, Hashable, Codable {
    /// The vendor's id.
    public var id: String
    /// The display name.
    public var name: String
    /// The variation group that allocates users; the experiment's id if `nil`.
    public var group: String?
    /// Whether places in the experiment's other groups also count, such as those of lists of users.
    public var takesOtherGroups: Bool
    /// The variations.
    public var variations: [Arm]

    /// A variation.
    public struct Arm: Sendable, Hashable, Codable {
        /// The vendor's id.
        public var id: String
        /// The display name.
        public var name: String
        /// Its weight, in any unit; only the ratio matters.
        public var weight: Double
        /// Whether it is the control.
        public var isControl: Bool
        /// The flag values that it gives.
        public var values: [String: FlagValue]

        /// Creates a variation.
        public init(
            id: String,
            name: String? = nil,
            weight: Double,
            isControl: Bool = false,
            values: [String: FlagValue] = [:]
        ) {
            self.id = id
            self.name = name ?? id
            self.weight = weight
            self.isControl = isControl
            self.values = values
        }
    }

    /// Creates an experiment.
    public init(id: String, name: String? = nil, group: String? = nil, takesOtherGroups: Bool = true, variations: [Arm])
    {
        self.id = id
        self.name = name ?? id
        self.group = group
        self.takesOtherGroups = takesOtherGroups
        self.variations = variations
    }

    /// The index of the variation that a place belongs to; `nil` if it is outside this experiment.
    func variation(of place: Assignment) -> Int? {
        guard !place.isHoldout, [id, name].contains(place.experiment.id) || place.experiment.name == name,
            takesOtherGroups || place.group == group
        else { return nil }
        return variations.firstIndex { $0.id == place.variation.id }
            ?? variations.firstIndex { $0.name == place.variation.name }
    }

    /// Whether a place was allocated: a list of users says nothing about the ratio.
    func isDrawn(_ place: Assignment) -> Bool {
        [.allocated, .sticky].contains(place.origin) && place.group == (group ?? id)
    }
}

extension World {
    /// The running experiments, as every vendor with this world should run them.
    public var testedExperiments: [TestedExperiment] {
        experiments.filter(\.isRunning).map { experiment in
            TestedExperiment(
                id: experiment.id,
                name: experiment.name,
                variations: experiment.variations.map { variation in
                    let values = flags.filter { $0.experiment == experiment.id }.compactMap { flag in
                        flag.variations[variation.id].map { (flag.key, $0) }
                    }
                    return TestedExperiment.Arm(
                        id: variation.id,
                        name: variation.name,
                        weight: Double(variation.weight),
                        isControl: variation.isControl,
                        values: Dictionary(values, uniquingKeysWith: { $1 })
                    )
                }
            )
        }
    }
}
