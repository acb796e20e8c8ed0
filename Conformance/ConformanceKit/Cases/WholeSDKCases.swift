import Experimentation

extension ConformanceCase {
    /// Whether it is about a whole SDK, and about nothing else.
    var isAboutWholeSDKs: Bool { name.hasPrefix("sdk/") }

    /// The cases for a whole SDK in another process: what an application sees of it, including its cache and outbox.
    ///
    /// They aren't among ``all``: those look at a role from inside the client, these at an SDK from outside.
    public static let wholeSDK: [ConformanceCase] = wholeSDKDecisions + wholeSDKEvents

    private static let wholeSDKDecisions: [ConformanceCase] = [
        sdk("values", 2, "Flags of every scalar type are read as decided", [.flags]) { probe in
            let sdk = try await probe.readySDK()
            let flags: [(String, FlagValue, FlagValue)] = [
                ("welcome", "Hello!", "?"), ("free-shipping", true, false), ("items-per-page", 24, 1),
                ("discount", .double(0.15), .double(1)),
            ]
            for (key, value, fallback) in flags {
                probe.expect(try await sdk.read(key, default: fallback).value, equals: value, key)
            }
        },
        sdk("objects", 2, "An object is read with its members", [.flags, .objectFlags]) { probe in
            let reading = try await probe.readySDK().read("theme", default: ["accent": "none"])
            probe.expect(reading.value, equals: ["accent": "#06c", "dark": false], "theme")
        },
        sdk(
            "not-ready",
            1,
            "Before the first decisions, a read gives the default, says so, and sends no request",
            [.flags]
        ) {
            probe in
            let sdk = try await probe.sdk()
            let before = try await probe.exchanges(.decisions).count
            let reading = try await sdk.read("welcome", default: "default")
            probe.expect(reading, equals: .init(value: "default", reason: .error, error: .providerNotReady), "welcome")
            probe.expect(try await probe.exchanges(.decisions).count, equals: before, "requests after the read")
        },
        sdk("missing-flag", 1, "A missing flag gives the default, and says so", [.flags]) { probe in
            let reading = try await probe.readySDK().read("nowhere", default: 7)
            probe.expect(reading, equals: .init(value: 7, reason: .error, error: .flagNotFound), "nowhere")
        },
        sdk("another-type", 2, "A string read as a number gives the default, and says so", [.flags]) { probe in
            let reading = try await probe.readySDK().read("welcome", default: 7)
            probe.expect(reading, equals: .init(value: 7, reason: .error, error: .typeMismatch), "welcome")
        },
        sdk(
            "targeting",
            3,
            "Each user gets the values that match their attributes",
            [.flags, .targeting],
            world: .rules("sdk-rules", [("support", [World.Condition("plan", .equals, "pro")])])
        ) { probe in
            for (user, expected) in [(User.ada, true), (.ben, false)] {
                let reading = try await probe.readySDK(on: user.id, for: user).read("support", default: false)
                probe.expect(reading.value, equals: .bool(expected), "support of \(user.id)")
            }
        },
        sdk("outlives-an-outage", 5, "The last good value outlives failing answers, and is marked as stale", [.flags]) {
            probe in
            let sdk = try await probe.readySDK()
            try await probe.inject(WorldFault(.status(503), on: .decisions, times: nil))
            probe.push(.seconds(90_000))
            probe.expect(try await sdk.refresh() != nil, "the refresh fails, and says so")
            let reading = try await sdk.read("welcome", default: "?")
            probe.expect(reading, equals: .init(value: "Hello!", reason: .stale, error: nil), "welcome")
        },
        sdk("recovers", 5, "After an outage, the next refresh brings what has changed", [.flags]) { probe in
            let sdk = try await probe.readySDK()
            try await probe.inject(WorldFault(.html200, on: .decisions, times: nil))
            try await probe.change { $0.flags[0].value = "Welcome back!" }
            _ = try await sdk.refresh()
            probe.expect(try await sdk.read("welcome", default: "?").value, equals: "Hello!", "through a login page")
            try await probe.stage.clearFaults()
            probe.expect(try await sdk.refresh() == nil, "the next refresh succeeds")
            probe.expect(try await sdk.read("welcome", default: "?").value, equals: "Welcome back!", "afterwards")
        },
        sdk(
            "offline-start",
            5,
            "A start without a network has the previous run's decisions",
            [.flags, .offlineStart]
        ) { probe in
            try await probe.readySDK().stop()
            try await probe.setReachable(false)
            let value = try await probe.sdk().read("welcome", default: "?").value
            probe.expect(value, equals: "Hello!", "welcome, offline")
        },
        sdk("start-after-a-kill", 5, "A start without a network after a kill has them, too", [.flags, .offlineStart]) {
            probe in
            try await probe.readySDK().kill()
            try await probe.setReachable(false)
            let value = try await probe.sdk().read("welcome", default: "?").value
            probe.expect(value, equals: "Hello!", "welcome, after a kill")
        },
        sdk(
            "not-another-users",
            3,
            "One user's stored decisions aren't given to another",
            [.flags, .targeting, .offlineStart],
            world: .rules("sdk-kept", [("support", [World.Condition("plan", .equals, "pro")])])
        ) { probe in
            try await probe.readySDK().stop()
            try await probe.setReachable(false)
            let reading = try await probe.sdk(for: .ben).read("support", default: false)
            probe.expect(reading.value, equals: false, "ben's value on ada's device")
        },
        sdk(
            "places",
            9,
            "A user's assignment is reported, with whether it is the control",
            [.experiments, .controlGroups]
        ) { probe in
            let places = try await probe.readySDK().places()
            probe.expect(places.map(\.variation.isControl), equals: [false], "places, each whether it is the control")
            probe.expect(probe.isVariation(places.first, "green", of: "checkout"), "the variation in \(places)")
        },
        sdk(
            "kill-switch",
            19,
            "The kill switch takes effect with the next read after a refresh, and can be lifted",
            [.flags, .killSwitch]
        ) {
            probe in
            let sdk = try await probe.readySDK()
            try await probe.setKillSwitch(true)
            _ = try await sdk.refresh()
            probe.expect(try await sdk.read("welcome", default: "off").value, equals: "off", "switched off")
            try await probe.setKillSwitch(false)
            _ = try await sdk.refresh()
            probe.expect(try await sdk.read("welcome", default: "off").value, equals: "Hello!", "switched on again")
        },
    ]

    /// A case for a whole SDK.
    static func sdk(
        _ name: String,
        _ promise: Int,
        _ summary: String,
        _ requires: Set<Capability>,
        fields: Set<Received.Field> = [],
        world: World = .shop,
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(
            "sdk/\(name)",
            promise: promise,
            summary,
            requires: requires,
            fields: fields,
            world: world,
            steps: steps
        )
    }
}
