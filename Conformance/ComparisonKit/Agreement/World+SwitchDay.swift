import ConformanceKit
import Experimentation

extension World {
    /// A shop on the day of its switch: it runs experiments of every kind, each with something that is hard to move.
    ///
    /// Halves; thirds with a control that sets no flag; users of one plan with some forced; a holdout on top.
    public static let switchDay = World(
        name: "switch-day",
        summary: "A shop in the middle of three experiments, on the day that it changes vendors",
        flags: [
            Flag("welcome", "Hello!"),
            Flag("free-shipping", true, rules: [.init(when: [Condition("plan", .equals, "free")], value: false)]),
            Flag("checkout-color", "grey", experiment: "checkout", variations: ["control": "grey", "green": "green"]),
            Flag("price-label", "plain", experiment: "prices", variations: ["short": "short", "long": "long"]),
            Flag("search-rank", 1, experiment: "search", variations: ["control": 1, "learned": 2]),
        ],
        experiments: [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [
                    .init("control", name: "As it was", weight: 50, isControl: true),
                    .init("green", name: "Green button", weight: 50),
                ],
                isSticky: true
            ),
            Experiment(
                "prices",
                name: "Price labels",
                variations: [
                    .init("bare", name: "No label", weight: 34, isControl: true),
                    .init("short", name: "Short label", weight: 33), .init("long", name: "Long label", weight: 33),
                ],
                isSticky: true
            ),
            Experiment(
                "search",
                name: "Learned search",
                variations: [
                    .init("control", name: "By popularity", weight: 80, isControl: true),
                    .init("learned", name: "Learned", weight: 20),
                ],
                targeting: [Condition("plan", .equals, "pro")],
                forced: ["ada": "learned"],
                isSticky: true
            ),
        ],
        holdouts: [Holdout("quiet-tenth", name: "Quiet tenth", weight: 10)],
        users: [.ada, .ben, .cleo, .dan],
        catalogue: [.mug, .teapot]
    )
}
