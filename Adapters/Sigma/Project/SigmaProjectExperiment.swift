import Experimentation

/// An experiment of any kind, ready to decide.
final class SigmaProjectExperiment: Sendable {
    struct Layer: Sendable {
        let id: String
        /// Which of the project's draws of layers it shares.
        let draw: Int
        let bounds: [SigmaWire.Bounds]

        func contains(_ position: Double) -> Bool {
            bounds.contains { $0.lower <= position && position < $0.upper }
        }
    }

    /// A group, with the sum of weights at which it ends.
    struct Group: Sendable {
        let name: String
        let label: String?
        let end: Double
    }

    /// A parameter with its text in each group.
    struct Param: Sendable {
        let name: String
        let values: [String?]
    }

    let name: String
    let kind: SigmaWire.Kind?
    let salt: String
    let splitBy: SigmaWire.SplitID
    let splitProperty: Property
    let allocation: Double
    let layer: Layer?
    let groups: [Group]
    let params: [Param]
    /// The names of the flags that it controls, each once, in the vendor's order.
    let flagNames: [String]
    /// The users that its own list forces into it.
    let forced: Set<ExactText>
    /// The group into which each listed user is forced.
    let forcedGroups: [ExactText: Int]
    /// The holdouts above it, by index.
    let holdouts: [Int]
    let audience: Audience?

    var isHoldout: Bool { kind == .holdout }

    init(_ wire: SigmaWire.Experiment, layer: Layer?, holdouts: [String: Int], assuming assumptions: SigmaAssumptions) {
        name = wire.name
        kind = wire.type
        salt = wire.salt
        splitBy = wire.splitBy
        splitProperty = Property(wire.splitBy.rawValue)
        allocation = wire.allocation
        self.layer = layer
        var end = 0.0
        groups = wire.groups.map { group in
            end += group.weight
            return Group(name: group.name, label: group.label, end: end)
        }
        params = wire.params.map { param in
            let values = Dictionary(firstOf: param.values.map { ($0.group, $0.value) })
            return Param(name: param.name, values: wire.groups.map { values[$0.name] })
        }
        var known: Set<String> = []
        flagNames = wire.featureFlags.filter { Platform.isOurs($0.platforms) }.map(\.name)
            .filter { known.insert($0).inserted }
        forced = Set(wire.forcedUserList.map { ExactText($0) })
        forcedGroups = Dictionary(
            firstOf: wire.groups.enumerated().flatMap { index, group in
                group.forcedUserList.map { (ExactText($0), index) }
            }
        )
        self.holdouts = wire.type == .holdout ? [] : wire.holdouts.compactMap { holdouts[$0] }
        audience = wire.targets.map { Audience($0, assuming: assumptions) }
    }

    /// Returns the group at a position, or `nil` past the sum of the weights.
    func group(at position: Double) -> Int? { groups.firstIndex { position < $0.end } }

    /// Returns the group of a forced user, who always has one.
    ///
    /// Past the sum of the weights, the rest up to 100 is divided in the same proportions; without weights, the first
    /// group takes all.
    func forcedGroup(at position: Double) -> Int? {
        guard let end = groups.last?.end, end > 0 else { return groups.isEmpty ? nil : 0 }
        return group(at: position) ?? group(at: (position - end) / (100 - end) * end)
    }

    /// The group that takes all users whatever the draw; saves hashing.
    var onlyGroup: Int? {
        guard let first = groups.firstIndex(where: { $0.end > 0 }) else { return nil }
        return groups[first].end >= 100 ? first : nil
    }

    /// Returns the group with a name or, failing that, an index written as a number.
    func group(named text: String) -> Int? {
        if let index = groups.firstIndex(where: { $0.name == text }) { return index }
        guard let index = Int(text), groups.indices.contains(index) else { return nil }
        return index
    }
}
