import Experimentation

extension ConformanceCase {
    /// More of promises 2, 3 and 9: attributes, and the values of rules and experiments, of every type.
    static let values: [ConformanceCase] = [
        ConformanceCase(
            "targeting/true-and-false",
            promise: 3,
            "Conditions for true and false match that Boolean, and not a missing attribute",
            requires: [.flags, .targeting],
            needs: ["flags/lounge", "flags/trial"],
            world: .rules(
                "booleans",
                [
                    ("lounge", [World.Condition("member", .equals, true)]),
                    ("trial", [World.Condition("member", .equals, false)]),
                ]
            )
        ) { probe in
            let people: [(Attributes, [Bool])] = [
                (["member": true], [true, false]), (["member": false], [false, true]), ([:], [false, false]),
            ]
            for (number, (attributes, expected)) in people.enumerated() {
                let user = User(id: "person-\(number)", attributes: attributes, consent: .granted)
                let session = try await probe.readySession(for: user)
                let seen = ["lounge", "trial"].map { session.bool($0, default: false) }
                probe.expect(seen, equals: expected, "lounge and trial with \(attributes.values)")
            }
        },
        ConformanceCase(
            "targeting/fractions",
            promise: 3,
            "Conditions for decimals compare numbers, and the bound itself is neither less nor greater",
            requires: [.flags, .targeting],
            needs: ["flags/light", "flags/heavy", "flags/exact"],
            world: .rules(
                "fractions",
                [
                    ("light", [World.Condition("weight", .lessThan, 17.5)]),
                    ("exact", [World.Condition("weight", .equals, 17.5)]),
                    ("heavy", [World.Condition("weight", .greaterThan, 17.5)]),
                ]
            )
        ) { probe in
            let weights: [(Double, Int)] = [(0.5, 0), (17.25, 0), (17.5, 1), (17.75, 2), (100.5, 2)]
            for (weight, place) in weights {
                let user = User(id: "weighs-\(weight)", attributes: ["weight": .double(weight)], consent: .granted)
                let session = try await probe.readySession(for: user)
                let seen = ["light", "exact", "heavy"].map { session.bool($0, default: false) }
                probe.expect(seen, equals: (0...2).map { $0 == place }, "light, exact and heavy at \(weight)")
            }
        },
        ConformanceCase(
            "targeting/values-of-every-type",
            promise: 2,
            "A rule gives values of every scalar type unchanged",
            requires: [.flags, .targeting],
            needs: plain.map { "flags/\($0.key)" },
            world: .ruled("typed-rules", plain)
        ) { probe in try await probe.expectPlainValues() },
        ConformanceCase(
            "targeting/objects",
            promise: 2,
            "A rule gives objects and lists unchanged",
            requires: [.flags, .targeting, .objectFlags],
            needs: parted.map { "flags/\($0.key)" },
            world: .ruled("object-rules", parted)
        ) { probe in try await probe.expectPartedValues() },
        ConformanceCase(
            "experiments/values-of-every-type",
            promise: 2,
            "A variation gives values of every scalar type unchanged",
            requires: [.flags, .experiments],
            needs: ["experiments/checkout"] + plain.map { "flags/\($0.key)" },
            world: .varied("typed-variations", plain)
        ) { probe in try await probe.expectPlainValues() },
        ConformanceCase(
            "experiments/objects",
            promise: 2,
            "A variation gives objects and lists unchanged",
            requires: [.flags, .experiments, .objectFlags],
            needs: ["experiments/checkout"] + parted.map { "flags/\($0.key)" },
            world: .varied("object-variations", parted)
        ) { probe in try await probe.expectPartedValues() },
    ]

    /// Flags of plain types, each with its usual value and another one.
    private static let plain: [World.Typed] = [
        .init("one-page", false, true), .init("steps", 3, 2), .init("rebate", 0.25, 0.75), .init("label", "Pay", "Buy"),
    ]

    /// Flags whose values have parts.
    private static let parted: [World.Typed] = [
        .init("button", ["color": "grey"], ["color": "green", "width": 2.5, "bold": true, "on": ["a", 1]]),
        .init("methods", ["card"], ["card", 7, false]),
    ]
}

extension World {
    /// A flag's usual value, and the one that a rule or a variation gives.
    fileprivate struct Typed: Sendable {
        let key: String
        let usual: FlagValue
        let other: FlagValue

        init(_ key: String, _ usual: FlagValue, _ other: FlagValue) {
            (self.key, self.usual, self.other) = (key, usual, other)
        }
    }

    /// Flags with other values for users on the plan pro.
    fileprivate static func ruled(_ name: String, _ flags: [Typed]) -> World {
        World(
            name: name,
            flags: flags.map { flag in
                Flag(
                    flag.key,
                    flag.usual,
                    rules: [.init(when: [Condition("plan", .equals, "pro")], value: flag.other)]
                )
            },
            users: [.ada, .ben]
        )
    }

    /// Flags with other values in the variation that every user is in.
    fileprivate static func varied(_ name: String, _ flags: [Typed]) -> World {
        World(
            name: name,
            flags: flags.map { flag in
                Flag(
                    flag.key,
                    flag.usual,
                    experiment: "checkout",
                    variations: ["control": flag.usual, "green": flag.other]
                )
            },
            experiments: World.shop.experiments,
            users: [.ada, .ben]
        )
    }
}

extension Probe {
    /// Expects ada to read the other values of the plain flags.
    fileprivate func expectPlainValues() async throws {
        let session = try await readySession()
        expect(session.bool("one-page", default: false), equals: true, "the Boolean")
        expect(session.int("steps", default: 0), equals: 2, "the whole number")
        expect(session.double("rebate", default: 0), equals: 0.75, "the fraction")
        expect(session.string("label", default: "?"), equals: "Buy", "the text")
    }

    /// Expects ada to read the other values of the flags with parts.
    fileprivate func expectPartedValues() async throws {
        let session = try await readySession()
        let button: FlagValue = ["color": "green", "width": 2.5, "bold": true, "on": ["a", 1]]
        expect(session.object("button", default: [:]), equals: button, "the object")
        expect(session.object("methods", default: []), equals: ["card", 7, false], "the list")
    }
}
