import Experimentation

extension ConformanceCase {
    /// More of promise 9: experiments that share users.
    static let layers: [ConformanceCase] = [
        ConformanceCase(
            "experiments/one-of-a-layer",
            promise: 9,
            "Of two experiments in one layer, each user is in exactly one, and both have users",
            requires: [.experiments, .layers],
            needs: ["experiments/left/layer", "experiments/right/layer"],
            probes: .layers,
            world: .layered("one-layer", [("left", "page", 0, 50), ("right", "page", 50, 100)])
        ) { probe in
            let places = try await probe.places(of: (1...100).map { "layered-\($0)" }, in: ["left", "right"])
            probe.expect(places.filter { $0.count != 1 }, equals: [], "places of users who aren't in exactly one")
            let seen = Set(places.flatMap { $0 })
            probe.expect(seen.sorted(), equals: ["left", "right"], "experiments with users")
        },
        ConformanceCase(
            "experiments/layers-apart",
            promise: 9,
            "Two layers are independent: users of one part of the first are in both parts of the second",
            requires: [.experiments, .layers],
            needs: ["experiments/left/layer", "experiments/upper/layer"],
            world: .layered(
                "two-layers",
                [
                    ("left", "page", 0, 50), ("right", "page", 50, 100), ("upper", "price", 0, 50),
                    ("lower", "price", 50, 100),
                ]
            )
        ) { probe in
            let experiments = ["left", "right", "upper", "lower"]
            let places = try await probe.places(of: (1...100).map { "celled-\($0)" }, in: experiments)
            let cells = Dictionary(grouping: places) { $0.joined(separator: " and ") }.mapValues(\.count)
            probe.expect(
                cells.keys.sorted(),
                equals: ["left and lower", "left and upper", "right and lower", "right and upper"],
                "pairs of places"
            )
            // A quarter of a hundred each; at random, a cell has fewer than ten once in ten thousand sets of users.
            probe.expect(cells.values.min() ?? 0 >= 10, "users by pairs of places: \(cells)")
        },
    ]
}

extension World {
    /// Experiments with one variation for all users in their part of a layer.
    fileprivate static func layered(
        _ name: String,
        _ parts: [(id: String, layer: String, from: Int, to: Int)]
    ) -> World {
        World(
            name: name,
            flags: parts.map {
                Flag("in-\($0.id)", "no", experiment: $0.id, variations: ["\($0.id)-on": "yes"])
            },
            experiments: parts.map { part in
                Experiment(
                    part.id,
                    variations: [.init("\(part.id)-on", weight: 100)],
                    layer: .init(part.layer, from: part.from, to: part.to)
                )
            },
            users: [.ada]
        )
    }
}

extension Probe {
    /// Which of these experiments each user has a place in; flags must say the same.
    fileprivate func places(of users: [String], in experiments: [String]) async throws -> [[String]] {
        try await reading(users.map { User(id: $0, consent: .granted) }) { session in
            let found = experiments.filter { self.place(in: $0, of: session) != nil }
            let told = experiments.filter { session.string("in-\($0)", default: "no") == "yes" }
            self.expect(told, equals: found, "the flags of \(session.user.id)'s experiments")
            return found
        }
    }
}
