import Experimentation

/// The mapping of one vendor's experiments and variations to another's.
public struct Pairing: Sendable, Hashable {
    /// How a pair was found.
    public enum Way: String, Sendable, Hashable, Codable {
        /// Specified by the user.
        case given
        /// By equal ids or names.
        case names
        /// By the flag values of the variations: users see the same.
        case values
        /// By the control, and otherwise by the order: worth checking.
        case order
    }

    /// Two corresponding experiments; one is missing if a vendor doesn't have it.
    public struct Pair: Sendable, Hashable {
        var before: Int?
        var after: Int?
        /// The corresponding variation for each variation before; `nil` if there is none.
        var variations: [Int?]
        var way: Way?
    }

    /// A pair specified by the user: the ids or names of two experiments, and of their variations.
    public struct Given: Sendable, Hashable {
        /// The experiment's id or name before.
        public var before: String
        /// The experiment's id or name after.
        public var after: String
        /// The variations' ids or names, after by before; those missing are matched automatically.
        public var variations: [String: String]

        /// Creates a pair.
        public init(_ before: String, _ after: String, variations: [String: String] = [:]) {
            self.before = before
            self.after = after
            self.variations = variations
        }
    }

    var pairs: [Pair] = []

    /// Finds the pairs: the specified ones first, then those with equal ids or names.
    init(_ before: [TestedExperiment], _ after: [TestedExperiment], given: [Given] = []) {
        var free = Set(after.indices)
        var said = [Given?](repeating: nil, count: before.count)
        for pair in given {
            if let place = before.place(of: pair.before), said[place] == nil { said[place] = pair }
        }
        var partners = [Int?](repeating: nil, count: before.count)
        for index in before.indices {
            guard let place = said[index].flatMap({ after.place(of: $0.after) }) else { continue }
            partners[index] = free.remove(place)
        }
        for index in before.indices where said[index] == nil {
            partners[index] = after.indices.first { free.contains($0) && before[index].isLike(after[$0]) }
            if let partner = partners[index] { free.remove(partner) }
        }
        for (index, experiment) in before.enumerated() {
            guard let partner = partners[index] else {
                pairs.append(Pair(before: index, variations: experiment.variations.map { _ in nil }))
                continue
            }
            let (variations, way) = Self.variations(
                experiment.variations,
                after[partner].variations,
                given: said[index]?.variations ?? [:]
            )
            pairs.append(Pair(before: index, after: partner, variations: variations, way: way))
        }
        pairs += free.sorted().map { Pair(after: $0, variations: []) }
    }

    private static func variations(
        _ before: [TestedExperiment.Arm],
        _ after: [TestedExperiment.Arm],
        given: [String: String]
    ) -> ([Int?], Way) {
        var free = Set(after.indices)
        var found = [Int?](repeating: nil, count: before.count)
        var way: Way = given.isEmpty ? .names : .given
        func match(_ isSame: (TestedExperiment.Arm, TestedExperiment.Arm) -> Bool) -> Bool {
            var isAny = false
            for index in before.indices where found[index] == nil {
                guard let other = free.sorted().first(where: { isSame(before[index], after[$0]) }) else { continue }
                found[index] = other
                free.remove(other)
                isAny = true
            }
            return isAny
        }
        for (name, other) in given.sorted(by: { $0.key < $1.key }) {
            guard let one = before.place(of: name), found[one] == nil,
                let partner = after.place(of: other), free.remove(partner) != nil
            else { continue }
            found[one] = partner
        }
        _ = match { one, other in other.isCalled(one.id) || other.isCalled(one.name) }
        // What users see identifies a variation, whatever its name, unless two variations have equal values.
        let isTelling = Set(before.map(\.values)).count == before.count
        if isTelling, match({ !$0.values.isEmpty && $0.values == $1.values }) { way = .values }
        if match({ $0.isControl && $1.isControl }) { way = .order }
        if match({ $0.isControl == $1.isControl }) { way = .order }
        return (found, way)
    }
}

extension TestedExperiment {
    fileprivate func isLike(_ other: TestedExperiment) -> Bool { other.isCalled(id) || other.isCalled(name) }
}

/// An experiment or a variation, which people refer to by id or name, whatever the letters' case.
protocol Named {
    var id: String { get }
    var name: String { get }
}

extension TestedExperiment: Named {}
extension TestedExperiment.Arm: Named {}

extension Named {
    func isCalled(_ name: String) -> Bool {
        [id, self.name].contains { $0.lowercased() == name.lowercased() }
    }
}

extension Array where Element: Named {
    /// The index of the element with an id, or else with a name.
    func place(of name: String) -> Int? { firstIndex { $0.id == name } ?? firstIndex { $0.isCalled(name) } }
}
