import Experimentation
import Foundation

/// A flag of an ``InMemoryProvider``: its named values, and which user gets which.
public struct InMemoryFlag: Sendable {
    /// The flag's key.
    public var key: String
    /// The values by name, in no particular order.
    public var variants: [String: FlagValue]
    /// The name of the value for users for whom ``target`` returns none; `nil` leaves the value to the caller.
    public var defaultVariant: String?
    /// Whether the flag is switched off: it reads as the default, with reason `Reason.disabled`.
    public var isDisabled: Bool
    /// The flag's metadata.
    public var metadata: [String: FlagValue]
    /// Returns the name of a user's value, or `nil` for the default one.
    public var target: (@Sendable (EvaluationContext) -> String?)?

    /// Creates a flag.
    public init(
        _ key: String,
        variants: [String: FlagValue],
        defaultVariant: String?,
        isDisabled: Bool = false,
        metadata: [String: FlagValue] = [:],
        target: (@Sendable (EvaluationContext) -> String?)? = nil
    ) {
        self.key = key
        self.variants = variants
        self.defaultVariant = defaultVariant
        self.isDisabled = isDisabled
        self.metadata = metadata
        self.target = target
    }

    /// Creates a flag with one value for all users.
    public init(_ key: String, _ value: FlagValue) {
        self.init(key, variants: ["on": value], defaultVariant: "on")
    }
}

/// An experiment of an ``InMemoryProvider``.
public struct InMemoryExperiment: Sendable {
    /// A variation, with the percentage of users who get it.
    public struct Arm: Sendable {
        /// The variation.
        public var variation: Variation
        /// The percentage of users who get it.
        public var weight: Double
        /// The values of flags in it.
        public var flags: [String: FlagValue]

        /// Creates an arm.
        public init(_ variation: Variation, weight: Double, flags: [String: FlagValue] = [:]) {
            self.variation = variation
            self.weight = weight
            self.flags = flags
        }
    }

    /// The experiment.
    public var experiment: Experiment
    /// The arms; users beyond the sum of the weights get none.
    public var arms: [Arm]
    /// Whether this is a holdout: its users are kept out of the experiments that name it.
    public var isHoldout: Bool
    /// The holdouts above this experiment, by id.
    public var holdouts: [String]
    /// Users who get an arm regardless of the allocation: ids of variations by ids of users.
    public var forced: [String: String]
    /// Whether the experiment applies to a user; to all users if `nil`.
    public var audience: (@Sendable (EvaluationContext) -> Bool)?

    /// Creates an experiment.
    public init(
        _ experiment: Experiment,
        arms: [Arm],
        isHoldout: Bool = false,
        holdouts: [String] = [],
        forced: [String: String] = [:],
        audience: (@Sendable (EvaluationContext) -> Bool)? = nil
    ) {
        self.experiment = experiment
        self.arms = arms
        self.isHoldout = isHoldout
        self.holdouts = holdouts
        self.forced = forced
        self.audience = audience
    }
}

/// The rules of an ``InMemoryProvider``: its flags, and experiments whose arms override them.
struct InMemoryRules: Ruleset {
    let catalogue: FlagCatalogue

    private struct Rule {
        var flag: InMemoryFlag?
        /// Indices of the flag's own outcomes by variant name.
        var variants: [String: Int]
        var leaveToCaller: Int
        /// Indices of outcomes by experiment and arm.
        var arms: [ArmKey: Int]
        var experiments: [Int]
    }

    private struct ArmKey: Hashable {
        var experiment: Int
        var arm: Int
    }

    private let experiments: [InMemoryExperiment]
    private let rules: [Rule]
    /// The outcome of each flag that is the same for all users, or -1.
    private let constants: [Int]
    /// The index of each arm among the catalogue's assignments, by how a user was assigned.
    private let places: [[Int]]
    private static let origins: [Assignment.Origin] = [.allocated, .sticky, .forcedByVendor, .forcedHere]

    init(flags: [InMemoryFlag], experiments: [InMemoryExperiment]) {
        self.experiments = experiments
        var assignments: [Assignment] = []
        var places: [[Int]] = []
        for experiment in experiments {
            places.append(experiment.arms.map { _ in 0 })
            for (index, arm) in experiment.arms.enumerated() {
                places[places.count - 1][index] = assignments.count
                for origin in Self.origins {
                    assignments.append(
                        Assignment(
                            experiment: experiment.experiment,
                            variation: arm.variation,
                            isHoldout: experiment.isHoldout,
                            origin: origin
                        )
                    )
                }
            }
        }
        self.places = places

        // Keys are compared by bytes, as the catalogue does.
        var seen: Set<ExactText> = []
        let keysOfArms = experiments.flatMap { $0.arms.flatMap(\.flags.keys) }
        let keys = (flags.map(\.key) + keysOfArms.sorted()).map { ExactText($0) }.filter { seen.insert($0).inserted }
        let flags = Dictionary(flags.map { (ExactText($0.key), $0) }, uniquingKeysWith: { $1 })
        let values = experiments.map {
            $0.arms.map { arm in
                Dictionary(uniqueKeysWithValues: arm.flags.map { (ExactText($0.key), $0.value) })
            }
        }
        var rules: [Rule] = []
        var catalogued: [FlagCatalogue.Flag] = []
        for key in keys {
            let flag = flags[key]
            var outcomes: [Resolution] = []
            var rule = Rule(flag: flag, variants: [:], leaveToCaller: 0, arms: [:], experiments: [])
            let isTargeted = flag?.target != nil
            outcomes.append(
                Resolution(
                    .null,
                    reason: flag?.isDisabled == true ? .disabled : .default,
                    metadata: flag?.metadata ?? [:]
                )
            )
            if let flag, !flag.isDisabled {
                for (name, value) in flag.variants.sorted(by: { $0.key < $1.key }) {
                    rule.variants[name] = outcomes.count
                    let plain: Reason = isTargeted ? .default : .static
                    outcomes.append(Resolution(value, variant: name, reason: plain, metadata: flag.metadata))
                    outcomes.append(Resolution(value, variant: name, reason: .targetingMatch, metadata: flag.metadata))
                }
            }
            for (number, experiment) in experiments.enumerated() {
                for (index, arm) in experiment.arms.enumerated() {
                    guard let value = values[number][index][key] else { continue }
                    if rule.experiments.last != number { rule.experiments.append(number) }
                    rule.arms[ArmKey(experiment: number, arm: index)] = outcomes.count
                    for origin in Self.origins.indices {
                        outcomes.append(
                            Resolution(
                                value,
                                variant: arm.variation.id,
                                reason: experiment.audience == nil ? .split : .targetingMatch,
                                metadata: flag?.metadata ?? [:],
                                assignment: places[number][index] + origin
                            )
                        )
                    }
                }
            }
            rules.append(rule)
            catalogued.append(FlagCatalogue.Flag(key.text, outcomes: outcomes))
        }
        self.rules = rules
        constants = rules.map { rule in
            guard rule.experiments.isEmpty, let flag = rule.flag, flag.target == nil else { return -1 }
            return flag.isDisabled ? 0 : flag.defaultVariant.flatMap { rule.variants[$0] } ?? -1
        }
        catalogue = FlagCatalogue(flags: catalogued, assignments: assignments)
    }

    func decisions(for context: EvaluationContext) -> Decisions {
        let found = experiments.indices.map { place(in: $0, context) }
        return Decisions(
            catalogue: catalogue,
            outcomes: rules.indices.map { outcome($0, context) { found[$0] } },
            alsoAssigned: found.indices.compactMap { number in
                found[number].map { places[number][$0.arm] + $0.origin }
            }
        )
    }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard rules.indices.contains(flag) else { return nil }
        let constant = constants[flag]
        return constant >= 0 ? constant : outcome(flag, context) { place(in: $0, context) }
    }

    // A target or an audience may look at anything.
    func nextChange(after date: Date) -> Date {
        let isPlain = rules.allSatisfy { $0.flag?.target == nil } && experiments.allSatisfy { $0.audience == nil }
        return isPlain ? .distantFuture : date
    }

    private func outcome(
        _ index: Int,
        _ context: EvaluationContext,
        place: (Int) -> (arm: Int, origin: Int)?
    ) -> Int? {
        let rule = rules[index]
        for number in rule.experiments {
            guard let place = place(number) else { continue }
            if let outcome = rule.arms[ArmKey(experiment: number, arm: place.arm)] { return outcome + place.origin }
        }
        guard let flag = rule.flag else { return nil }
        if flag.isDisabled { return rule.leaveToCaller }
        if let name = flag.target?(context), let outcome = rule.variants[name] { return outcome + 1 }
        guard let name = flag.defaultVariant else { return rule.leaveToCaller }
        return rule.variants[name] ?? nil
    }

    /// Returns a user's arm: forced here, forced by the vendor, kept or allocated, in this order.
    ///
    /// - Parameters:
    ///   - number: The experiment.
    ///   - context: The user.
    ///   - path: The experiments below it that ask for it: a holdout above itself would ask for itself without end.
    /// - Returns: The arm, and how the user was assigned to it.
    private func place(
        in number: Int,
        _ context: EvaluationContext,
        below path: [Int] = []
    ) -> (arm: Int, origin: Int)? {
        let experiment = experiments[number]
        guard !experiment.arms.isEmpty else { return nil }
        let override = context.overrides.last {
            $0.experiment == experiment.experiment.id || $0.experiment == experiment.experiment.name
        }
        if case .exclude = override { return nil }
        if case .include(_, let variation) = override {
            if let variation, let arm = arm(variation, of: experiment) { return (arm, 3) }
            if variation == nil { return (drawn(experiment, context) ?? 0, 3) }
        }
        if let forced = experiment.forced[context.user.id], let arm = arm(forced, of: experiment) { return (arm, 2) }
        for holdout in experiment.holdouts {
            if let above = experiments.firstIndex(where: { $0.experiment.id == holdout && $0.isHoldout }),
                above != number, !path.contains(above), place(in: above, context, below: path + [number]) != nil
            {
                return nil
            }
        }
        if let audience = experiment.audience, !audience(context) { return nil }
        if let kept = context.earlierAssignments[experiment.experiment.id], let arm = arm(kept, of: experiment) {
            return (arm, 1)
        }
        return drawn(experiment, context).map { ($0, 0) }
    }

    private func arm(_ variation: String, of experiment: InMemoryExperiment) -> Int? {
        experiment.arms.firstIndex { $0.variation.id == variation }
            ?? Int(variation).flatMap { experiment.arms.indices.contains($0) ? $0 : nil }
    }

    private func drawn(_ experiment: InMemoryExperiment, _ context: EvaluationContext) -> Int? {
        let bucket = Self.bucket(experiment.experiment.id, context.user.id)
        var sum = 0.0
        for (index, arm) in experiment.arms.enumerated() {
            sum += arm.weight
            if bucket < sum { return index }
        }
        return nil
    }

    /// A number from 0 up to, but not including, 100 that depends only on the two strings: FNV-1a, mixed at the end.
    static func bucket(_ salt: String, _ id: String) -> Double {
        var hash = id.utf8.fnv1a(after: [UInt8(0xFF)].fnv1a(after: salt.utf8.fnv1a()))
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return Double(hash >> 11) / Double(UInt64(1) << 53) * 100
    }
}
