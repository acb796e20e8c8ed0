import ConformanceKit
import Experimentation
import ExperimentationMigration

extension World {
    /// The shop with two experiments that split its users, so that a move has something to preserve.
    public static let movingShop = World.shop.changing { world in
        world.name = "moving-shop"
        world.summary = "The shop, with two experiments that split its users in halves"
        world.experiments = [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [
                    .init("control", name: "As it was", weight: 50, isControl: true), .init("green", weight: 50),
                ],
                isSticky: true
            ),
            Experiment(
                "headline",
                name: "Friendlier headline",
                variations: [.init("plain", weight: 50, isControl: true), .init("friendly", weight: 50)],
                isSticky: true
            ),
        ]
        world.flags.append(
            Flag("headline", "Shop", experiment: "headline", variations: ["plain": "Shop", "friendly": "Hello, you!"])
        )
    }

    /// The identity mapping of this world: both vendors have its experiments under its ids.
    public var ownMapping: Mapping {
        Mapping(
            experiments.filter(\.isRunning).map { experiment in
                let ids = experiment.variations.map(\.id)
                return ExperimentMapping(
                    old: .init(experiment.id),
                    new: .init(experiment.id),
                    variations: Dictionary(zip(ids, ids), uniquingKeysWith: { $1 }),
                    weights: Dictionary(
                        experiment.variations.map { ($0.id, Double($0.weight)) },
                        uniquingKeysWith: { $1 }
                    )
                )
            }
        )
    }
}

extension Mapping {
    /// The mapping adapted to mock vendors, where an experiment's group is the experiment itself.
    var playable: Mapping {
        Mapping(
            experiments.map { experiment in
                var experiment = experiment
                experiment.old = .init(experiment.old.experiment)
                experiment.new = .init(experiment.new.experiment)
                return experiment
            }
        )
    }

    /// A world with this mapping's experiments under one vendor's names, each with a flag of its own.
    func world(at side: MigrationSide) -> World {
        World.shop.changing { world in
            world.name = "plan-\(side.rawValue)"
            world.summary = "The experiments of a plan"
            world.experiments = experiments.map { experiment in
                let old = experiment.variations.keys.sorted()
                return World.Experiment(
                    experiment.place(at: side).experiment,
                    name: experiment.old.experiment,
                    variations: old.enumerated().map { index, id in
                        World.Experiment.Variation(
                            side == .old ? id : experiment.variations[id] ?? id,
                            name: id,
                            weight: Self.percent(experiment, old)[index],
                            isControl: index == 0
                        )
                    },
                    isSticky: true
                )
            }
            world.flags = experiments.enumerated().map { index, experiment in
                World.Flag(
                    "flag-\(index + 1)",
                    "none",
                    experiment: experiment.place(at: side).experiment,
                    variations: Dictionary(
                        uniqueKeysWithValues: experiment.variations.map { old, new in
                            (side == .old ? old : new, .string(old))
                        }
                    )
                )
            }
        }
    }

    /// Converts weights to integer percentages, equal ones by default; the first gets the rounding remainder.
    private static func percent(_ experiment: ExperimentMapping, _ arms: [String]) -> [Int] {
        let weights = arms.map { experiment.weights.isEmpty ? 1 : experiment.weights[$0] ?? 0 }
        let sum = weights.reduce(0, +)
        guard sum > 0, !arms.isEmpty else { return arms.map { _ in 0 } }
        var shares = weights.map { Int(($0 / sum * 100).rounded(.down)) }
        shares[0] += 100 - shares.reduce(0, +)
        return shares
    }
}
