import Experimentation

extension ConformanceCase {
    /// More of promises 1, 3, 6 and 8: conditions, keys, ids and weights as real accounts have them.
    static let targeting: [ConformanceCase] = [
        condition("not-equal", "A condition for any other value", .notEquals, "Berlin") {
            ["Hamburg": true, "Berlin": false]
        },
        condition("one-of-several", "A condition for any of several values", .equals, ["Berlin", "Bonn"]) {
            ["Bonn": true, "Berlin": true, "Hamburg": false, "": false]
        },
        condition("contains", "A condition for a part of a string", .contains, "burg") {
            ["Hamburg": true, "Berlin": false]
        },
        condition("unicode", "A condition for a string in another script", .equals, "Köln 東京") {
            ["Köln 東京": true, "Koln": false]
        },
        ConformanceCase(
            "targeting/less-and-greater",
            promise: 3,
            "Less than and greater than compare numbers: the bound itself is neither, and 9 is less than 10",
            requires: [.flags, .targeting],
            needs: ["flags/young", "flags/old"],
            world: .rules(
                "bounds",
                [
                    ("young", [World.Condition("age", .lessThan, 18)]),
                    ("old", [World.Condition("age", .greaterThan, 18)]),
                ]
            )
        ) { probe in
            for (age, expected) in [
                (9, [true, false]), (17, [true, false]), (18, [false, false]), (100, [false, true]),
            ] {
                let user = User(id: "user-\(age)", attributes: ["age": .int(age)], consent: .granted)
                let session = try await probe.readySession(for: user)
                let seen = ["young", "old"].map { session.bool($0, default: false) }
                probe.expect(seen, equals: expected, "young and old at \(age)")
            }
        },
        ConformanceCase(
            "targeting/all-conditions-together",
            promise: 3,
            "A rule with two conditions requires both",
            requires: [.flags, .targeting],
            needs: ["flags/both"],
            world: .rules(
                "two-conditions",
                [("both", [World.Condition("plan", .equals, "pro"), World.Condition("age", .greaterThan, 17)])]
            )
        ) { probe in
            let people: [(Attributes, Bool)] = [
                (["plan": "pro", "age": 36], true), (["plan": "pro", "age": 17], false),
                (["plan": "free", "age": 36], false), (["age": 36], false),
            ]
            for (number, (attributes, expected)) in people.enumerated() {
                let user = User(id: "person-\(number)", attributes: attributes, consent: .granted)
                let value = try await probe.readySession(for: user).bool("both", default: false)
                probe.expect(value, equals: expected, "the flag with \(attributes)")
            }
        },
        ConformanceCase(
            "targeting/the-first-rule-counts",
            promise: 3,
            "Of several matching rules, the first applies",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: World(
                name: "two-rules",
                flags: [
                    .init(
                        "support",
                        "mail",
                        rules: [
                            .init(when: [World.Condition("plan", .equals, "pro")], value: "phone"),
                            .init(when: [World.Condition("age", .greaterThan, 17)], value: "chat"),
                        ]
                    )
                ],
                users: [.ada, .cleo, .ben]
            )
        ) { probe in
            for (user, expected) in [(User.ada, "phone"), (.cleo, "chat"), (.ben, "mail")] {
                let value = try await probe.readySession(for: user).string("support", default: "?")
                probe.expect(value, equals: expected, "\(user.id)'s value")
            }
        },
        ConformanceCase(
            "evaluation/keys-of-every-script",
            promise: 1,
            "Keys with slashes, dots and spaces, and in every script, are found",
            requires: [.flags],
            needs: oddKeys.map { "flags/\($0)" },
            world: World(name: "odd-keys", flags: oddKeys.map { .init($0, .string("value of \($0)")) }, users: [.ada])
        ) { probe in
            let session = try await probe.readySession()
            for key in oddKeys {
                probe.expect(session.string(key, default: "?"), equals: "value of \(key)", "the flag \(key)")
            }
        },
        ConformanceCase(
            "evaluation/ids-of-every-script",
            promise: 1,
            "Users' ids are distinguished in every script and with characters reserved in URLs",
            requires: [.flags, .experiments],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: World.forced.changing {
                $0.name = "odd-ids"
                $0.experiments[0].forced = Dictionary(
                    uniqueKeysWithValues: oddIDs.enumerated().map { ($1, $0.isMultiple(of: 2) ? "control" : "green") }
                )
            }
        ) { probe in
            for (index, id) in oddIDs.enumerated() {
                let value = try await probe.readySession(for: User(id: id, consent: .granted))
                    .string("checkout-color", default: "?")
                probe.expect(value, equals: index.isMultiple(of: 2) ? "grey" : "green", "the value of \(id)")
            }
        },
        delivery(
            "delivery/ids-of-every-script",
            11,
            "A user's id arrives unchanged, in every script and with characters reserved in URLs",
            fields: [.userID]
        ) { probe in
            for (index, id) in oddIDs.enumerated() {
                let session = try await probe.session(for: User(id: id, consent: .granted))
                try await probe.trackMarks((index + 1)...(index + 1), in: session)
            }
            try await probe.deliverAll()
            probe.expect(try await probe.received().compactMap(\.userID).sorted(), equals: oddIDs.sorted(), "the ids")
        },
        ConformanceCase(
            "evaluation/a-thousand-flags",
            promise: 3,
            "A thousand flags are all read, and each has its own value",
            requires: [.flags],
            needs: ["flags/flag-1"],
            world: World(
                name: "thousand-flags",
                flags: (1...1_000).map { .init("flag-\($0)", .string("value-\($0)")) },
                users: [.ada]
            )
        ) { probe in
            let session = try await probe.readySession()
            let wrong = (1...1_000).filter { session.string("flag-\($0)", default: "?") != "value-\($0)" }
            probe.expect(wrong.prefix(5).map { "flag-\($0)" }, equals: [], "flags with another value")
        },
        ConformanceCase(
            "experiments/three-variations",
            promise: 8,
            "Three variations get their configured shares, within chance",
            requires: [.experiments],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .shares("three-variations", ["red": 20, "green": 30, "blue": 50])
        ) { probe in
            try await probe.expectShares(["red": 20, "green": 30, "blue": 50])
        },
        ConformanceCase(
            "experiments/a-part-of-the-traffic",
            promise: 8,
            "If the variations get three fifths of the traffic, the other users aren't assigned and see the defaults",
            requires: [.experiments],
            needs: ["experiments/checkout/traffic", "flags/checkout-color"],
            world: .shares("part-of-the-traffic", ["red": 30, "green": 30])
        ) { probe in
            try await probe.expectShares(["red": 30, "green": 30, "none": 40])
        },
    ]

    private static let oddKeys = ["path/to/flag", "a.b.c", "with blank", "größe-🫖", "東京", "UPPER", "a%2Fb?c=d&e#f"]
    private static let oddIDs = ["Zoë Müller", "東京-1", "a/b?c=d&e=f#g", "100%", "+49 30 555", "🫖"]

    private static func condition(
        _ name: String,
        _ summary: String,
        _ comparison: World.Condition.Comparison,
        _ value: FlagValue,
        cities: @escaping @Sendable () -> [String: Bool]
    ) -> ConformanceCase {
        ConformanceCase(
            "targeting/\(name)",
            promise: 3,
            "\(summary) gives the rule's value to the users who meet it, and to no others",
            requires: [.flags, .targeting],
            needs: ["flags/local"],
            world: .rules(name, [("local", [World.Condition("city", comparison, value)])])
        ) { probe in
            for (city, expected) in cities().sorted(by: { $0.key < $1.key }) {
                let user = User(id: "from-\(city.count)", attributes: ["city": .string(city)], consent: .granted)
                let value = try await probe.readySession(for: user).bool("local", default: false)
                probe.expect(value, equals: expected, "the flag in \"\(city)\"")
            }
        }
    }
}

extension World {
    /// Flags that are true for users who meet the conditions, and false for others.
    static func rules(_ name: String, _ flags: [(key: String, when: [Condition])]) -> World {
        World(
            name: name,
            flags: flags.map { Flag($0.key, false, rules: [.init(when: $0.when, value: true)]) },
            users: [.ada, .ben]
        )
    }

    /// An experiment whose variations are colors with these weights.
    fileprivate static func shares(_ name: String, _ weights: [String: Int]) -> World {
        let colors = weights.keys.sorted()
        return World(
            name: name,
            flags: [
                Flag(
                    "checkout-color",
                    "none",
                    experiment: "checkout",
                    variations: Dictionary(uniqueKeysWithValues: colors.map { ($0, .string($0)) })
                )
            ],
            experiments: [
                Experiment("checkout", variations: colors.map { .init($0, weight: weights[$0] ?? 0) })
            ],
            users: [.ada]
        )
    }
}

extension Probe {
    /// Expects the values of `checkout-color` to be distributed over 200 users as the weights say.
    fileprivate func expectShares(_ shares: [String: Int]) async throws {
        let count = 200
        let users = (1...count).map { User(id: "person-\($0)", consent: .granted) }
        let colors = try await reading(users) { session in
            let color = session.string("checkout-color", default: "none")
            if color == "none" {
                self.expect(self.place(in: "checkout", of: session) == nil, "\(session.user.id) must have no place")
            }
            return color
        }
        let seen = Dictionary(colors.map { ($0, 1) }, uniquingKeysWith: +)
        expect(Set(seen.keys), equals: Set(shares.keys), "what is seen")
        // Pearson's chi-squared test with two degrees of freedom: correct weights fail for one in a thousand sets of
        // users.
        let chiSquare = shares.reduce(0.0) { sum, share in
            let expected = Double(count * share.value) / 100
            let distance = Double(seen[share.key] ?? 0) - expected
            return sum + distance * distance / expected
        }
        expect(chiSquare < 13.82, "\(seen) of \(count) users, a chi-square of \(chiSquare)")
    }
}
