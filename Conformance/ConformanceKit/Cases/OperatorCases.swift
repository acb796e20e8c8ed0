import Experimentation

extension ConformanceCase {
    /// More of promises 3 and 6: comparisons that need more than numbers and texts, and unknown ones.
    static let operators: [ConformanceCase] = [
        ConformanceCase(
            "targeting/before-and-after",
            promise: 3,
            "Before and after compare instants: the bound itself is neither, and a malformed time is neither",
            requires: [.flags, .targeting, .dateTargeting],
            needs: ["flags/first", "flags/second"],
            probes: .dateTargeting,
            world: .rules(
                "dates",
                [
                    ("first", [World.Condition("joined", .before, "2026-03-01")]),
                    ("second", [World.Condition("joined", .after, "2026-03-01")]),
                ]
            )
        ) { probe in
            try await probe.expectFlags(
                ["first", "second"],
                by: "joined",
                [
                    ("2025-12-31", [true, false]), ("2026-02-28 23:59:59", [true, false]),
                    ("2026-03-01", [false, false]), ("2026-03-01 09:30", [false, true]), ("2026-10-01", [false, true]),
                    ("soon", [false, false]),
                ]
            )
        },
        ConformanceCase(
            "targeting/on-a-day",
            promise: 3,
            "A day includes every time on it, and none of the adjacent days",
            requires: [.flags, .targeting, .dateTargeting],
            needs: ["flags/opening"],
            world: .rules("days", [("opening", [World.Condition("joined", .onDay, "2026-03-01")])])
        ) { probe in
            try await probe.expectFlags(
                ["opening"],
                by: "joined",
                [
                    ("2026-02-28 23:59", [false]), ("2026-03-01", [true]), ("2026-03-01 00:00:00", [true]),
                    ("2026-03-01 23:59:59", [true]), ("2026-03-02", [false]), ("2025-03-01", [false]),
                ]
            )
        },
        ConformanceCase(
            "targeting/versions",
            promise: 3,
            "Versions are compared part by part: 2.9 comes before 2.10, which equals 2.10.0, and 10.0 comes after both",
            requires: [.flags, .targeting, .versionTargeting],
            needs: ["flags/outdated", "flags/newer"],
            probes: .versionTargeting,
            world: .rules(
                "versions",
                [
                    ("outdated", [World.Condition("appVersion", .versionBefore, "2.10")]),
                    ("newer", [World.Condition("appVersion", .versionAfter, "2.10")]),
                ]
            )
        ) { probe in
            try await probe.expectFlags(
                ["outdated", "newer"],
                by: "appVersion",
                [
                    ("2.9", [true, false]), ("2.9.12", [true, false]), ("2.10", [false, false]),
                    ("2.10.0", [false, false]), ("2.10.1", [false, true]), ("10.0", [false, true]),
                    ("beta", [false, false]),
                ]
            )
        },
        ConformanceCase(
            "malformed/unknown-beside-known",
            promise: 6,
            "A rule with an unknown operator doesn't match even if its other conditions do, and the next rule applies",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: World(
                name: "half-known",
                flags: [
                    .init(
                        "support",
                        "mail",
                        rules: [
                            .init(
                                when: [
                                    World.Condition("plan", .equals, "pro"),
                                    World.Condition("age", .unknownOperator, 17),
                                ],
                                value: "wrong"
                            ),
                            .init(when: [World.Condition("plan", .equals, "pro")], value: "phone"),
                        ]
                    )
                ],
                users: [.ada, .ben]
            )
        ) { probe in
            for (user, expected) in [(User.ada, "phone"), (.ben, "mail")] {
                let details = try await probe.readySession(for: user).details("support", default: "?")
                probe.expect(details.value, equals: expected, "\(user.id)'s value")
                probe.expect(details.errorCode, equals: nil, "the code for \(user.id)")
            }
        },
    ]
}

extension Probe {
    /// Expects flags to be on or off by the text of an attribute, with a separate user for each text.
    fileprivate func expectFlags(_ keys: [String], by attribute: String, _ table: [(String, [Bool])]) async throws {
        for (number, (text, expected)) in table.enumerated() {
            let user = User(id: "user-\(number)", attributes: [attribute: .string(text)], consent: .granted)
            let session = try await readySession(for: user)
            let seen = keys.map { session.bool($0, default: false) }
            expect(seen, equals: expected, "\(keys.joined(separator: " and ")) at \"\(text)\"")
        }
    }
}
