/// A configuration in prepared form: without other platforms' parts, with resolved names and parsed operands.
///
/// A class, as flags and experiments are: evaluating then counts one reference, not one for each of their parts.
final class SigmaProject: Sendable {
    let flags: [SigmaProjectFlag]
    let experiments: [SigmaProjectExperiment]
    let wantsPlace: Bool
    /// The number of different draws of layers.
    let layerDraws: Int
    let assumptions: SigmaAssumptions
    /// Whether a condition looks at the time or the day.
    let looksAtClock: Bool
    private let flagIndices: [String: Int]
    private let experimentIndices: [String: Int]

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

        flags = Self.flags(of: root, in: kept, assuming: assumptions)
        flagIndices = Dictionary(firstOf: flags.enumerated().map { ($1.name, $0) })
        looksAtClock =
            experiments.contains { $0.audience?.looksAtClock == true } || flags.contains(where: \.looksAtClock)
    }

    /// Combines the project's flags with its experiments' flags; of equal names, the first counts.
    private static func flags(
        of root: SigmaWire.Root,
        in experiments: [SigmaWire.Experiment],
        assuming assumptions: SigmaAssumptions
    ) -> [SigmaProjectFlag] {
        var (wires, indices): ([SigmaWire.Flag], [String: Int]) = ([], [:])
        func index(of flag: SigmaWire.Flag) -> Int {
            if let index = indices[flag.name] { return index }
            indices[flag.name] = wires.count
            wires.append(flag)
            return wires.count - 1
        }
        func rule(_ wire: SigmaWire.Rule) -> SigmaProjectRule { SigmaProjectRule(wire, assuming: assumptions) }
        for flag in root.featureFlags where Platform.isOurs(flag.platforms) { _ = index(of: flag) }
        let own = wires.indices
        var placements: [Int: [SigmaProjectFlag.Placement]] = [:]
        for (position, experiment) in experiments.enumerated() where experiment.type != .holdout {
            for flag in experiment.featureFlags where Platform.isOurs(flag.platforms) {
                let index = index(of: flag)
                guard placements[index]?.last?.experiment != position else { continue }
                let rules = Dictionary(firstOf: flag.groups.map { ($0.group, $0.rules) })
                let placement = SigmaProjectFlag.Placement(
                    experiment: position,
                    type: ValueType(flag.type ?? wires[index].type),
                    rules: experiment.groups.map { rules[$0.name]?.map(rule) },
                    groupNames: flag.groups.map(\.group)
                )
                placements[index, default: []].append(placement)
            }
        }
        return wires.enumerated().map { index, wire in
            SigmaProjectFlag(
                name: wire.name,
                type: ValueType(wire.type),
                rules: own.contains(index) ? wire.rules.map(rule) : nil,
                placements: placements[index] ?? []
            )
        }
    }
}

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

    init(name: String, type: ValueType, rules: [SigmaProjectRule]?, placements: [Placement]) {
        self.name = name
        self.type = type
        self.rules = rules
        self.placements = placements
    }

    var looksAtClock: Bool {
        let all = (rules ?? []) + placements.flatMap { $0.rules.flatMap { $0 ?? [] } }
        return all.contains { $0.audience.looksAtClock }
    }
}

extension Dictionary {
    /// Creates a dictionary of pairs; of equal keys the first counts.
    init(firstOf pairs: some Sequence<(Key, Value)>) { self.init(pairs, uniquingKeysWith: { first, _ in first }) }
}
