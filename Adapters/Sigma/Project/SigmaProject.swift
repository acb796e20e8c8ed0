/// A configuration in prepared form: without other platforms' parts, with resolved names and parsed operands.
///
/// A class, as flags and experiments are: evaluating then counts one reference, not one for each of their parts.
final class SigmaProject: Sendable {
    let flags: [SigmaProjectFlag]
    let experiments: [SigmaProjectExperiment]
    /// Whether the configuration needs the user's location.
    let wantsPlace: Bool
    /// The number of different draws of layers.
    let layerDraws: Int
    let assumptions: SigmaAssumptions
    /// Whether a condition looks at the time or the day.
    let looksAtClock: Bool
    private let flagIndices: [String: Int]
    private let experimentIndices: [String: Int]

    /// Returns the index of a flag by name.
    func flag(named name: String) -> Int? { flagIndices[name] }
    /// Returns the index of an experiment of any kind by name.
    func experiment(named name: String) -> Int? { experimentIndices[name] }

    init(_ root: SigmaWire.Root, assuming assumptions: SigmaAssumptions) {
        self.assumptions = assumptions
        wantsPlace = root.useGeo
        let kept = root.experiments.filter { Platform.isOurs($0.platforms) }

        experimentIndices = Dictionary(firstOf: kept.enumerated().map { ($1.name, $0) })
        let holdouts = Dictionary(firstOf: kept.enumerated().filter { $1.type == .holdout }.map { ($1.name, $0) })

        var layers: [String: Int] = [:]
        experiments = kept.map { wire in
            let layer = wire.layerID.map { id in
                let key = wire.splitBy.rawValue + " " + id
                let draw = layers[key] ?? layers.count
                layers[key] = draw
                return SigmaProjectExperiment.Layer(id: id, draw: draw, bounds: wire.layerBounds)
            }
            return SigmaProjectExperiment(wire, layer: layer, holdouts: holdouts, assuming: assumptions)
        }
        layerDraws = layers.count

        var builder = SigmaProjectFlag.Collection(assuming: assumptions)
        for flag in root.featureFlags where Platform.isOurs(flag.platforms) { builder.add(flag) }
        for (index, experiment) in kept.enumerated() where experiment.type != .holdout {
            for flag in experiment.featureFlags where Platform.isOurs(flag.platforms) {
                builder.add(flag, of: index, groups: experiment.groups.map(\.name))
            }
        }
        flags = builder.flags
        looksAtClock =
            experiments.contains { $0.audience?.looksAtClock == true } || flags.contains(where: \.looksAtClock)
        flagIndices = builder.indices
    }
}

/// A value and its audience.
struct SigmaProjectRule: Sendable {
    let text: String
    let isDefault: Bool
    let audience: Audience

    init(_ wire: SigmaWire.Rule, assuming assumptions: SigmaAssumptions) {
        text = wire.value
        isDefault = wire.isDefault
        audience = Audience(wire.audience, assuming: assumptions)
    }
}

extension [SigmaProjectRule] {
    /// Returns the first rule whose conditions hold, or else the first default rule.
    func chosen(by reading: PropertyReading) -> Int? {
        for index in indices where !self[index].isDefault && self[index].audience.includes(reading) {
            return index
        }
        return firstIndex { $0.isDefault }
    }
}

/// A flag, with its own rules and its placements in experiments.
final class SigmaProjectFlag: Sendable {
    /// An experiment's effect on the flag.
    struct Placement: Sendable {
        /// The experiment's index.
        let experiment: Int
        /// The flag's type there, which is its own unless the experiment states another.
        let type: ValueType
        /// The rules for each group of the experiment; `nil` for a group without any.
        let rules: [[SigmaProjectRule]?]
        /// The names of the groups with rules for the flag, in the vendor's order.
        let groupNames: [String]
    }

    let name: String
    let type: ValueType
    /// The rules outside experiments; `nil` if only experiments know the flag.
    let rules: [SigmaProjectRule]?
    /// In the order of the experiments.
    let placements: [Placement]

    private init(_ draft: Collection.Draft) {
        name = draft.name
        type = draft.type
        rules = draft.rules
        placements = draft.placements
    }

    /// Whether a condition looks at the time or the day.
    var looksAtClock: Bool {
        let all = (rules ?? []) + placements.flatMap { $0.rules.flatMap { $0 ?? [] } }
        return all.contains { $0.audience.looksAtClock }
    }

    /// Combines the flags of the project and the experiments.
    struct Collection {
        fileprivate struct Draft {
            let name: String
            let type: ValueType
            let rules: [SigmaProjectRule]?
            var placements: [Placement] = []
        }

        private var drafts: [Draft] = []
        private(set) var indices: [String: Int] = [:]
        private let assumptions: SigmaAssumptions

        init(assuming assumptions: SigmaAssumptions) { self.assumptions = assumptions }

        var flags: [SigmaProjectFlag] { drafts.map { SigmaProjectFlag($0) } }

        mutating func add(_ wire: SigmaWire.Flag) {
            guard indices[wire.name] == nil else { return }
            _ = index(of: wire, rules: prepared(wire.rules))
        }

        mutating func add(_ wire: SigmaWire.Flag, of experiment: Int, groups: [String]) {
            let index = index(of: wire, rules: nil)
            guard drafts[index].placements.last?.experiment != experiment else { return }
            let rules = Dictionary(firstOf: wire.groups.map { ($0.group, prepared($0.rules)) })
            let placement = Placement(
                experiment: experiment,
                type: wire.type.map { ValueType($0) } ?? drafts[index].type,
                rules: groups.map { rules[$0] },
                groupNames: wire.groups.map(\.group)
            )
            drafts[index].placements.append(placement)
        }

        private mutating func index(of wire: SigmaWire.Flag, rules: [SigmaProjectRule]?) -> Int {
            if let index = indices[wire.name] { return index }
            indices[wire.name] = drafts.count
            drafts.append(Draft(name: wire.name, type: ValueType(wire.type), rules: rules))
            return drafts.count - 1
        }

        private func prepared(_ rules: [SigmaWire.Rule]) -> [SigmaProjectRule] {
            rules.map { SigmaProjectRule($0, assuming: assumptions) }
        }
    }
}

extension Dictionary {
    /// Creates a dictionary of pairs; of equal keys the first counts.
    init(firstOf pairs: some Sequence<(Key, Value)>) { self.init(pairs, uniquingKeysWith: { first, _ in first }) }
}
