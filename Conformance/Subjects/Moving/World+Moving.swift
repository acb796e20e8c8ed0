import ConformanceKit
import Experimentation
import ExperimentationMigration

extension World {
    /// The shop with two experiments that split its users, so that a move has something to keep.
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

    /// The mapping of this world onto itself: both vendors have its experiments under its ids.
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
