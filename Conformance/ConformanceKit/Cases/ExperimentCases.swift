import Experimentation

extension ConformanceCase {
    /// Promises 8 and 9: assignments, stickiness, holdouts, control groups, forced users and overrides.
    static let experiments: [ConformanceCase] = [
        ConformanceCase(
            "experiments/everybody-in-one-variation",
            promise: 9,
            "If one variation has all the weight, every user is assigned to it and reads its value",
            requires: [.flags, .experiments],
            needs: ["flags/checkout-color", "experiments/checkout"],
            probes: .experiments,
            world: .shop
        ) { probe in
            for user in [User.ada, .ben] {
                let session = try await probe.readySession(for: user)
                probe.expect(session.string("checkout-color", default: "?"), equals: "green", "\(user.id)'s value")
                let place = probe.place(in: "checkout", of: session)
                probe.expect(
                    probe.isVariation(place, "green", of: "checkout"),
                    "\(user.id)'s place: \(String(describing: place?.variation))"
                )
            }
        },
        ConformanceCase(
            "experiments/control-is-visible",
            promise: 9,
            "The control variation is reported as the control, and the other isn't",
            requires: [.experiments, .controlGroups],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: .forced
        ) { probe in
            let ada = probe.place(in: "checkout", of: try await probe.readySession(for: .ada))
            let ben = probe.place(in: "checkout", of: try await probe.readySession(for: .ben))
            probe.expect(ada?.variation.isControl, equals: true, "ada, in the control")
            probe.expect(ben?.variation.isControl, equals: false, "ben, in the test")
        },
        ConformanceCase(
            "experiments/forced-by-the-vendor",
            promise: 9,
            "Users whom the vendor forces into a variation get it, and the assignment is marked as forced",
            requires: [.experiments],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: .forced
        ) { probe in
            for (user, variation, color) in [(User.ada, "control", "grey"), (.ben, "green", "green")] {
                let session = try await probe.readySession(for: user)
                let place = probe.place(in: "checkout", of: session)
                probe.expect(probe.isVariation(place, variation, of: "checkout"), "\(user.id)'s variation")
                probe.expect(session.string("checkout-color", default: "?"), equals: color, "\(user.id)'s value")
                probe.expect(place?.origin, equals: .forcedByVendor, "how \(user.id) came there")
            }
        },
        ConformanceCase(
            "experiments/same-in-every-run",
            promise: 8,
            "A new client makes the same decisions for the same user",
            requires: [.experiments],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .split
        ) { probe in
            let users = (1...12).map { User(id: "user-\($0)", consent: .granted) }
            func colors() async throws -> [String] {
                var colors: [String] = []
                for user in users {
                    colors.append(try await probe.readySession(for: user).string("checkout-color", default: "?"))
                }
                return colors
            }
            let first = try await colors()
            probe.use(ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore()))
            try await probe.restart()
            probe.expect(try await colors(), equals: first, "the colours of twelve users")
        },
        ConformanceCase(
            "experiments/both-halves-are-used",
            promise: 8,
            "Four hundred users are split evenly between two variations, within chance",
            requires: [.experiments],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .split
        ) { probe in
            let count = 400
            let users = (1...count).map { User(id: "person-\($0)", consent: .granted) }
            let seen = try await probe.reading(users) { $0.string("checkout-color", default: "?") }
            let green = seen.count { $0 == "green" }
            // Pearson's chi-squared test with one degree of freedom. A fair split fails for one in a thousand sets of
            // users, and the set is fixed; a split of 30 to 70 is detected in all but one in ten million sets.
            let half = Double(count) / 2
            let distance = Double(green) - half
            let chiSquare = 2 * distance * distance / half
            probe.expect(chiSquare < 10.83, "\(green) of \(count) users see green, a chi-square of \(chiSquare)")
        },
        ConformanceCase(
            "experiments/outside-the-audience",
            promise: 9,
            "Users outside an experiment's audience aren't assigned",
            requires: [.flags, .experiments, .targeting],
            needs: ["experiments/checkout/targeting", "flags/checkout-color"],
            world: World.shop.changing {
                $0.name = "targeted-experiment"
                $0.experiments[0].targeting = [.init("plan", .equals, "pro")]
            }
        ) { probe in
            let ada = try await probe.readySession(for: .ada)
            let ben = try await probe.readySession(for: .ben)
            probe.expect(probe.place(in: "checkout", of: ada) != nil, "ada, on the plan pro, takes part")
            probe.expect(probe.place(in: "checkout", of: ben) == nil, "ben, on the plan free, must not take part")
            probe.expect(ben.string("checkout-color", default: "grey"), equals: "grey", "ben's value")
        },
        ConformanceCase(
            "experiments/not-running",
            promise: 9,
            "A stopped experiment assigns no users",
            requires: [.experiments],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: World.shop.changing {
                $0.name = "stopped-experiment"
                $0.experiments[0].isRunning = false
            }
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(probe.place(in: "checkout", of: session) == nil, "no user takes part")
            probe.expect(session.string("checkout-color", default: "grey"), equals: "grey", "the value")
        },
        ConformanceCase(
            "experiments/ended-meanwhile",
            promise: 9,
            "After an experiment is stopped, the next refresh removes its assignments",
            requires: [.experiments],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(probe.place(in: "checkout", of: session) != nil, "ada takes part")
            try await probe.change { $0.experiments[0].isRunning = false }
            await probe.refresh(session)
            probe.expect(probe.place(in: "checkout", of: session) == nil, "no user takes part any more")
        },
        ConformanceCase(
            "experiments/each-place-once",
            promise: 9,
            "Two flags of one experiment share one assignment",
            requires: [.flags, .experiments],
            needs: ["experiments/checkout", "flags/checkout-color", "flags/checkout-label"],
            world: twoFlags
        ) { probe in
            let session = try await probe.readySession()
            let first = probe.place(in: "checkout", of: session)
            let places = session.assignments.filter { $0.experiment.id == first?.experiment.id }
            probe.expect(places.count, equals: 1, "places")
            probe.expect(session.string("checkout-label", default: "?"), equals: "Buy now", "the other flag")
        },
        ConformanceCase(
            "experiments/sticky",
            promise: 8,
            "A user keeps their variation even if all the weight moves to the other",
            requires: [.experiments, .stickyAssignments],
            needs: ["experiments/checkout/sticky", "flags/checkout-color"],
            probes: .stickyAssignments,
            world: .split
        ) { probe in
            let session = try await probe.readySession()
            let first = session.string("checkout-color", default: "?")
            try await probe.change { $0.experiments[0].swapWeights(for: first) }
            await probe.refresh(session)
            probe.expect(session.string("checkout-color", default: "?"), equals: first, "the value afterwards")
        },
        ConformanceCase(
            "experiments/sticky-over-a-restart",
            promise: 8,
            "A sticky variation survives a restart",
            requires: [.experiments, .stickyAssignments],
            needs: ["experiments/checkout/sticky", "flags/checkout-color"],
            world: .split
        ) { probe in
            let first = try await probe.readySession().string("checkout-color", default: "?")
            try await probe.change { $0.experiments[0].swapWeights(for: first) }
            try await probe.restart()
            let session = try await probe.readySession()
            probe.expect(session.string("checkout-color", default: "?"), equals: first, "the value afterwards")
        },
        ConformanceCase(
            "experiments/sticky-for-the-old-only",
            promise: 8,
            "New weights apply to new users",
            requires: [.experiments, .stickyAssignments],
            needs: ["experiments/checkout/sticky", "flags/checkout-color"],
            world: .split
        ) { probe in
            let first = try await probe.readySession().string("checkout-color", default: "?")
            try await probe.change { $0.experiments[0].swapWeights(for: first) }
            try await probe.restart()
            let other = first == "green" ? "grey" : "green"
            for number in 1...5 {
                let newcomer = try await probe.readySession(for: User(id: "newcomer-\(number)", consent: .granted))
                probe.expect(newcomer.string("checkout-color", default: "?"), equals: other, "newcomer \(number)")
            }
        },
        ConformanceCase(
            "experiments/holdout-is-visible",
            promise: 9,
            "A held-out user has an assignment that says so",
            requires: [.experiments, .holdouts],
            needs: ["holdouts", "experiments/checkout"],
            probes: .holdouts,
            world: .heldOut
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(
                session.assignments.contains { $0.isHoldout },
                "a place in the holdout: \(session.assignments.map(\.experiment.id))"
            )
        },
        ConformanceCase(
            "experiments/holdout-keeps-out",
            promise: 9,
            "A held-out user isn't in the covered experiments and sees the defaults",
            requires: [.flags, .experiments, .holdouts],
            needs: ["holdouts", "experiments/checkout", "flags/checkout-color"],
            world: .heldOut
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(probe.place(in: "checkout", of: session) == nil, "no place in the experiment")
            probe.expect(session.string("checkout-color", default: "grey"), equals: "grey", "the value")
        },
        ConformanceCase(
            "overrides/include",
            promise: 9,
            "A device can force its users into a variation, and the assignment says so",
            requires: [.flags, .experiments, .overrides],
            needs: ["experiments/checkout", "flags/checkout-color"],
            probes: .overrides,
            world: .shop
        ) { probe in
            try await probe.client().force(.include(experiment: "checkout", variation: "control"))
            let session = try await probe.readySession()
            let place = probe.place(in: "checkout", of: session)
            probe.expect(
                probe.isVariation(place, "control", of: "checkout"),
                "the variation: \(String(describing: place?.variation.id))"
            )
            probe.expect(place?.origin, equals: .forcedHere, "how the user came there")
            probe.expect(session.string("checkout-color", default: "?"), equals: "grey", "the value")
        },
        ConformanceCase(
            "overrides/exclude",
            promise: 9,
            "A device can exclude its users from an experiment",
            requires: [.flags, .experiments, .overrides],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .shop
        ) { probe in
            try await probe.client().force(.exclude(experiment: "checkout"))
            let session = try await probe.readySession()
            probe.expect(probe.place(in: "checkout", of: session) == nil, "no place in the experiment")
            probe.expect(session.string("checkout-color", default: "grey"), equals: "grey", "the value")
        },
        ConformanceCase(
            "overrides/survive-a-restart",
            promise: 9,
            "A device's override survives a restart, and can be removed",
            requires: [.flags, .experiments, .overrides],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .shop
        ) { probe in
            try await probe.client().force(.exclude(experiment: "checkout"))
            try await probe.restart()
            let session = try await probe.readySession()
            probe.expect(probe.place(in: "checkout", of: session) == nil, "no place after the restart")
            try await probe.client().removeOverrides()
            await probe.refresh(session)
            probe.expect(probe.place(in: "checkout", of: session) != nil, "a place after letting go")
        },
        ConformanceCase(
            "overrides/unsupported-is-said",
            promise: 9,
            "A vendor without overrides reports UNSUPPORTED; one that declares them doesn't",
            world: .shop
        ) { probe in
            let client = try await probe.client()
            if probe.subject.capabilities.contains(.overrides) {
                try await client.force(.exclude(experiment: "checkout"))
                probe.expect(client.overrides, equals: [.exclude(experiment: "checkout")], "what is forced")
            } else {
                await probe.expectError("force", .unsupported) {
                    try await client.force(.exclude(experiment: "checkout"))
                }
                probe.expect(client.overrides.isEmpty, "nothing must be forced")
            }
        },
    ]

    /// A checkout experiment that controls two flags.
    static let twoFlags = World.shop.changing {
        $0.name = "two-flags"
        $0.flags.append(
            .init("checkout-label", "Buy", experiment: "checkout", variations: ["control": "Buy", "green": "Buy now"])
        )
    }
}

extension World.Experiment {
    /// Moves all the weight to the variation that a reader of this value is not in.
    fileprivate mutating func swapWeights(for color: String) {
        for index in variations.indices {
            let isMine = variations[index].id == (color == "green" ? "green" : "control")
            variations[index].weight = isMine ? 0 : 100
        }
    }
}
