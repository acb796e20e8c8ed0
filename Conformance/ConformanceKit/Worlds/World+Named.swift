import Experimentation
import Foundation

extension User {
    /// A signed-in customer of the shop who has consented to tracking.
    public static let ada = User(
        id: "ada",
        attributes: ["plan": "pro", "age": 36, "vip": true],
        consent: .granted
    )
    /// A customer of another country and age.
    public static let ben = User(
        id: "ben",
        attributes: ["plan": "free", "age": 17, "vip": false],
        consent: .granted
    )
    /// A customer who hasn't been asked for consent yet.
    public static let cleo = User(id: "cleo", attributes: ["plan": "free", "age": 52], consent: .unknown)
    /// A customer who has denied consent.
    public static let dan = User(id: "dan", attributes: ["plan": "pro", "age": 28], consent: .denied)
}

extension CatalogItem {
    /// A mug for 12.50.
    public static let mug = CatalogItem(
        id: "mug-1",
        name: "Blue mug",
        price: Decimal(sign: .plus, exponent: -2, significand: 1250),
        currency: "EUR",
        categories: ["kitchen"]
    )
    /// A tea pot for 39.90.
    public static let teapot = CatalogItem(
        id: "teapot-7",
        name: "Iron teapot",
        price: Decimal(sign: .plus, exponent: -2, significand: 3990),
        currency: "EUR",
        categories: ["kitchen", "tea"]
    )
}

extension World {
    /// The shop of the default scenario: plain flags of every type, and a checkout experiment for everyone.
    ///
    /// The experiment assigns everyone to its only running variation, so that every vendor must decide the same.
    public static let shop = World(
        name: "shop",
        summary: "A shop that tests a new checkout: everybody gets the green one",
        flags: [
            Flag("welcome", "Hello!"),
            Flag("free-shipping", true),
            Flag("items-per-page", 24),
            Flag("discount", 0.15),
            Flag("theme", ["accent": "#06c", "dark": false]),
            Flag("checkout-color", "grey", experiment: "checkout", variations: ["control": "grey", "green": "green"]),
        ],
        experiments: [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [
                    .init("control", name: "As it was", weight: 0, isControl: true),
                    .init("green", name: "Green button", weight: 100),
                ]
            )
        ],
        campaigns: [
            Campaign(
                "spring",
                name: "Spring sale",
                target: "banner",
                trigger: "viewItem",
                experience: "spring-a",
                content: ["headline": "Teapots are 10 % off", "link": "/sale"],
                promotedItems: ["teapot-7"]
            )
        ],
        users: [.ada, .ben, .cleo, .dan],
        catalogue: [.mug, .teapot]
    )

    /// One plain flag, for cases that test something else.
    public static let oneFlag = World(
        name: "one-flag",
        summary: "A single flag that is on for everybody",
        flags: [Flag("welcome", "Hello!")],
        users: [.ada, .ben, .cleo, .dan]
    )

    /// A flag of each type, including edge values.
    public static let everyType = World(
        name: "every-type",
        summary: "A flag of each type, with values at the edges",
        flags: [
            Flag("on", true), Flag("off", false),
            Flag("seven", 7), Flag("zero", 0), Flag("minus", -3), Flag("large", 9_007_199_254_740_991),
            Flag("half", 0.5), Flag("whole", 3.0, type: .double), Flag("tiny", 1e-9),
            Flag("word", "tea"), Flag("empty", ""), Flag("digits", "42"), Flag("truth", "true"),
            Flag("umlaut", "Größe 🫖"),
            Flag("object", ["a": 1, "b": ["c": true]]), Flag("list", [1, 2, 3]),
        ],
        users: [.ada, .ben]
    )

    /// Flags that depend on attributes.
    public static let targeted = World(
        name: "targeted",
        summary: "Flags whose value depends on the plan and on the age",
        flags: [
            Flag("support", "mail", rules: [.init(when: [Condition("plan", .equals, "pro")], value: "phone")]),
            Flag("adult", false, rules: [.init(when: [Condition("age", .greaterThan, 17)], value: true)]),
            Flag("odd", "usual", rules: [.init(when: [Condition("plan", .unknownOperator, "pro")], value: "wrong")]),
        ],
        users: [.ada, .ben]
    )

    /// An experiment that splits users in two.
    public static let split = World(
        name: "split",
        summary: "A checkout experiment that splits its users in two halves",
        flags: [
            Flag("checkout-color", "grey", experiment: "checkout", variations: ["control": "grey", "green": "green"])
        ],
        experiments: [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [.init("control", weight: 50, isControl: true), .init("green", weight: 50)],
                isSticky: true
            )
        ],
        users: [.ada, .ben, .cleo, .dan]
    )

    /// An experiment with forced users: ada sees the control, ben the green button.
    public static let forced = World(
        name: "forced",
        summary: "A checkout experiment with one forced user in each variation",
        flags: [
            Flag("checkout-color", "grey", experiment: "checkout", variations: ["control": "grey", "green": "green"])
        ],
        experiments: [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [.init("control", weight: 50, isControl: true), .init("green", weight: 50)],
                forced: ["ada": "control", "ben": "green"]
            )
        ],
        users: [.ada, .ben]
    )

    /// A holdout that keeps everyone out of the checkout experiment.
    public static let heldOut = World(
        name: "held-out",
        summary: "A holdout that takes everybody",
        flags: [
            Flag("checkout-color", "grey", experiment: "checkout", variations: ["control": "grey", "green": "green"])
        ],
        experiments: [
            Experiment(
                "checkout",
                name: "New checkout",
                variations: [.init("control", weight: 0, isControl: true), .init("green", weight: 100)]
            )
        ],
        holdouts: [Holdout("quiet-quarter", name: "Quiet quarter", weight: 100, experiments: ["checkout"])],
        users: [.ada, .ben]
    )

    /// One flag whose record is malformed, between two valid ones.
    public static let oneBrokenFlag = World(
        name: "one-broken-flag",
        summary: "A flag that can't be read between two that can",
        flags: [Flag("before", "ok"), Flag("broken", "?", isMalformed: true), Flag("after", "ok")],
        users: [.ada]
    )

    /// A shop whose banner is returned when an item is viewed; ben is in the control group.
    public static let banner = World(
        name: "banner",
        summary: "A campaign for everybody but the control group",
        campaigns: [
            Campaign(
                "spring",
                name: "Spring sale",
                target: "banner",
                trigger: "viewItem",
                experience: "spring-a",
                controlGroup: ["ben"],
                content: ["headline": "Teapots are 10 % off"],
                promotedItems: ["teapot-7"]
            )
        ],
        users: [.ada, .ben],
        catalogue: [.mug, .teapot]
    )

    /// A world with users and nothing else.
    public static let empty = World(name: "empty", summary: "Nothing", users: [.ada, .ben, .cleo, .dan])

    /// The predefined worlds.
    public static let named: [World] = [
        .shop, .oneFlag, .everyType, .targeted, .split, .forced, .heldOut, .oneBrokenFlag, .banner, .empty,
    ]
}
