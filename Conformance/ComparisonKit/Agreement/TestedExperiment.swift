import ConformanceKit
import Experimentation

/// An experiment of one vendor, as far as it takes to find a user's place in it and to know what the shares should be.
public struct TestedExperiment: Sendable, Hashable, Codable {
    /// The vendor's id of the experiment.
    public var id: String
    /// The name that people gave it.
    public var name: String
    /// The variation group that users are drawn in; the experiment's id if `nil`.
    public var group: String?
    /// Whether places in other groups of the experiment count as well, such as those of lists that name users.
    public var takesOtherGroups: Bool
    /// The variations.
    public var variations: [Arm]

    /// One of the experiences.
    public struct Arm: Sendable, Hashable, Codable {
        /// The vendor's id.
        public var id: String
        /// The name that people gave it.
        public var name: String
        /// The share of the experiment's users that it should get; only the ratio of the weights counts.
        public var weight: Double
        /// Whether the others are compared with it.
        public var isControl: Bool
        /// The values that it gives to flags.
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

    /// Which of the variations a place is, or `nil` if it is none in this experiment.
    func variation(of place: Assignment) -> Int? {
        guard !place.isHoldout, [id, name].contains(place.experiment.id) || place.experiment.name == name,
            takesOtherGroups || place.group == group
        else { return nil }
        return variations.firstIndex { $0.id == place.variation.id }
            ?? variations.firstIndex { $0.name == place.variation.name }
    }

    /// Whether a place was drawn: a list that names the user says nothing of the shares.
    func isDrawn(_ place: Assignment) -> Bool {
        [.allocated, .sticky].contains(place.origin) && place.group == (group ?? id)
    }
}

extension World {
    /// The running experiments, as every vendor that holds this world should run them.
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
