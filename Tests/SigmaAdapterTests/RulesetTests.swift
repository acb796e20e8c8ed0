import Experimentation
import Foundation
import Testing

@testable import SigmaAdapter

@Suite("A configuration decides for any user")
struct RulesetTests {
    @Test("every flag of the reference configuration has its value for a plain user")
    func reference() throws {
        let ruleset = try Reference.ruleset()
        #expect(
            ruleset.values(for: Reference.context()) == [
                "chat": false, "limits": ["max": 3], "ratio": 0.25, "broken_rules": .null, "strict": .null,
                "button": "red", "only_in_test": true,
            ]
        )
    }

    @Test("a single flag equals its value among all", arguments: ["u-1", "force-a", "held", "vip", ""])
    func single(id: String) throws {
        let ruleset = try Reference.ruleset()
        let context = Reference.context(id, ["plan": "pro"])
        let decisions = ruleset.decisions(for: context)
        for flag in ruleset.catalogue.keys.indices {
            #expect(ruleset.outcome(ofFlag: flag, for: context) == decisions.outcome(ofFlag: flag))
        }
        #expect(ruleset.outcome(ofFlag: -1, for: context) == nil)
        #expect(ruleset.outcome(ofFlag: 99, for: context) == nil)
    }

    @Test("a value names its source")
    func provenance() throws {
        let ruleset = try Reference.ruleset()
        let all = ruleset.catalogue.assignments
        func resolution(_ flag: String, _ context: EvaluationContext) -> Resolution? {
            ruleset.decisions(for: context)[flag]
        }
        var button = resolution("button", Reference.context())
        let place = button?.assignment.map { all[$0] }
        button?.assignment = nil
        #expect(
            button
                == Resolution(
                    "red",
                    variant: "B",
                    reason: .split,
                    metadata: ["experiment": "button_test", "group": "B", "groupIndex": 1]
                )
        )
        #expect(
            place
                == Assignment(
                    experiment: Experiment(id: "button_test", kind: "featureFlag"),
                    variation: Variation(id: "B"),
                    metadata: ["groupIndex": 1]
                )
        )
        #expect(resolution("button", Reference.context("force-a"))?.reason == .targetingMatch)
        #expect(resolution("button", Reference.context("u-1", ["os.name": "Other"])) == .init("grey", reason: .default))
        #expect(resolution("ratio", Reference.context()) == .init(0.25, reason: .static))
        #expect(resolution("chat", Reference.context()) == .init(false, reason: .default))
        #expect(resolution("chat", Reference.context("u", ["plan": "team"])) == .init(true, reason: .targetingMatch))
        #expect(resolution("strict", Reference.context()) == .init(.null, reason: .default))
        #expect(resolution("web_only", Reference.context()) == nil)
    }

    @Test("a holdout is visible as an assignment, and keeps the user out of later experiments")
    func holdout() throws {
        let ruleset = try Reference.ruleset()
        let decisions = ruleset.decisions(for: Reference.context("held"))
        #expect(
            decisions.assignments == [
                Assignment(
                    experiment: Experiment(id: "hold_q1", kind: "holdout"),
                    variation: Variation(id: "H"),
                    isHoldout: true,
                    origin: .forcedByVendor,
                    metadata: ["groupIndex": 0]
                )
            ]
        )
        #expect(decisions["button"]?.value == "grey")
        #expect(decisions["only_in_test"] == Resolution(.null, reason: .default))
    }

    @Test("forced users escape holdouts unless configured otherwise")
    func forcedAndHeld() throws {
        let bytes = Array(
            """
            {"experiments":[
              {"name":"h","type":5,"salt":"s","allocation":100,"groups":[{"name":"H","weight":100}]},
              {"name":"e","salt":"s","allocation":0,"holdouts":["h"],
               "groups":[{"name":"A","weight":100,"forced_user_list":["f"]}]}]}
            """.utf8
        )
        func places(_ assumptions: SigmaAssumptions) throws -> [String] {
            try Reference.ruleset(of: bytes, assuming: assumptions).decisions(for: Reference.context("f"))
                .assignments.map(\.experiment.id)
        }
        #expect(try places(SigmaAssumptions()) == ["h", "e"])
        var strict = SigmaAssumptions()
        strict.forcedUsersEscapeHoldouts = false
        #expect(try places(strict) == ["h"])
    }

    @Test(
        "assignments forced on this device take precedence over everything else",
        arguments: [
            ([AssignmentOverride.include(experiment: "button_test", variation: "A")], "blue"),
            ([.include(experiment: "button_test", variation: "1")], "red"),
            ([.include(experiment: "button_test", variation: "7")], "blue"),
            ([.include(experiment: "button_test", variation: nil)], "red"),
            ([.exclude(experiment: "button_test")], "grey"),
            (
                [.exclude(experiment: "button_test"), .include(experiment: "button_test", variation: "B")], "red"
            ),
            ([.include(experiment: "another", variation: "B")], "blue"),
        ] as [([AssignmentOverride], FlagValue)]
    )
    func overrides(overrides: [AssignmentOverride], expected: FlagValue) throws {
        let context = Reference.context("force-a", overrides: overrides)
        #expect(try Reference.ruleset().decisions(for: context)["button"]?.value == expected)
    }

    @Test("an assignment forced here is marked as such")
    func localOrigin() throws {
        let context = Reference.context("held", overrides: [.include(experiment: "closed", variation: "B")])
        let place = try Reference.ruleset().decisions(for: context).assignments.last
        #expect(place?.origin == .forcedHere)
        #expect(place?.variation.id == "B")
    }

    @Test("ids are taken from where the vendor splits by them")
    func identities() throws {
        let ruleset = try Reference.ruleset()
        let signedIn = EvaluationContext(
            user: User(id: "p-1", anonymousID: "force-a", isAuthenticated: true),
            date: Reference.noon
        )
        #expect(
            ruleset.decisions(for: signedIn).assignments.map { "\($0.experiment.id)=\($0.variation.id)" }
                == ["button_test=A", "delay.test=A"]
        )
        var known = signedIn
        known.user.anonymousID = nil
        #expect(
            ruleset.decisions(for: known).assignments.map { "\($0.experiment.id)=\($0.variation.id)" }
                == ["button_test=B", "delay.test=A"]
        )
        let named = Reference.context("u-1", ["profileId": "p-1", "userId": "force-a"])
        #expect(ruleset.decisions(for: named).assignments.map(\.experiment.id) == ["button_test", "delay.test"])
        #expect(ruleset.decisions(for: named)["button"]?.value == "blue")
    }

    @Test("an empty id isn't split, and one with line breaks is like any other")
    func oddIDs() throws {
        let ruleset = try Reference.ruleset()
        #expect(ruleset.decisions(for: Reference.context("")).assignments.isEmpty)
        #expect(
            ruleset.decisions(for: Reference.context("a\nb\r\n")).assignments.map(\.experiment.id) == ["button_test"]
        )
    }

    @Test(
        "an empty id counts as none, and the other one splits the user",
        arguments: [
            (User(id: "u", anonymousID: "", isAuthenticated: true), ["button_test", "delay.test"]),
            (User(id: "", anonymousID: "a-1", isAuthenticated: true), ["button_test"]),
            (User(id: "", anonymousID: "a-1"), ["button_test"]), (User(id: "", anonymousID: ""), []),
            (User(id: "u", attributes: ["userId": ""]), ["button_test"]),
            (User(id: "u", isAuthenticated: true, attributes: ["profileId": ""]), ["button_test", "delay.test"]),
        ]
    )
    func emptyIDs(user: User, experiments: [String]) throws {
        let context = EvaluationContext(user: user, date: Reference.noon)
        #expect(try Reference.ruleset().decisions(for: context).assignments.map(\.experiment.id) == experiments)
    }

    @Test("ids on forced lists are compared byte by byte")
    func exactIDs() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let json = """
            {"experiments":[
              {"name":"by its own list","salt":"s","allocation":0,"groups":[{"name":"A","weight":100}],
               "forced_user_list":["\(composed)"]},
              {"name":"by a group's list","salt":"s","allocation":0,
               "groups":[{"name":"A","weight":100,"forced_user_list":["\(composed)"]}]}]}
            """
        let ruleset = try Reference.ruleset(of: Array(json.utf8))
        func experiments(_ id: String) -> [String] {
            ruleset.decisions(for: Reference.context(id)).assignments.map(\.experiment.id)
        }
        #expect(experiments(composed) == ["by its own list", "by a group's list"])
        #expect(experiments(decomposed) == [])
    }

    @Test(
        "attributes are custom properties unless their name is reserved",
        arguments: [
            ("plan", "custom.plan", FlagValue.string("pro"), true),
            ("custom.plan", "custom.plan", .string("pro"), true),
            ("\u{301}e", "custom.\u{301}e", .string("pro"), true),
            ("plan", "plan", .string("pro"), false), ("email", "email", .string("pro"), true),
            ("email", "custom.email", .string("pro"), false), ("custom.email", "custom.email", .string("pro"), true),
            ("geo.city", "geo.city", .string("pro"), true), ("geo.street", "geo.street", .string("pro"), false),
            ("flag", "custom.flag", .bool(true), false), ("plan", "custom.plan", .null, false),
        ]
    )
    func properties(attribute: String, property: String, value: FlagValue, matches: Bool) throws {
        let ruleset = try Self.probe(property, "pro")
        #expect(
            ruleset.values(for: Reference.context("u", Attributes([attribute: value])))
                == ["probe": .bool(matches)]
        )
    }

    @Test(
        "values become the strings that the vendor's SDK would write",
        arguments: [(FlagValue.bool(true), "true"), (.int(2), "2"), (.double(2), "2.0"), (.string("a b"), "a b")]
    )
    func texts(value: FlagValue, text: String) throws {
        let ruleset = try Self.probe("custom.p", text)
        #expect(ruleset.values(for: Reference.context("u", Attributes(["p": value]))) == ["probe": true])
    }

    @Test(
        "unset properties come from the device, the clock and the location",
        arguments: [
            ("deviceId", "device-1"), ("appVersion", "2.10"), ("os.name", "iOS"), ("os.version", "17.4.0"),
            ("time", "2026-11-21 12:00:00"), ("date", "2026-11-21"), ("geo.city", "Kazan"), ("geo.street", "Main"),
        ]
    )
    func surroundings(property: String, text: String) throws {
        let place = ["geo.city": "Kazan", "geo.street": "Main"]
        let ruleset = try Self.probe(property, text, place: place)
        #expect(ruleset.values(for: Reference.context()) == ["probe": true])
        let looksAtClock = property == "time" || property == "date"
        #expect(ruleset.nextChange(after: Reference.noon) == (looksAtClock ? Reference.noon : .distantFuture))
    }

    @Test("properties expire; those set again, and those without a date, remain valid")
    func ageing() throws {
        let ruleset = try Self.probe("custom.p", "x")
        func value(ageInHours: Double) -> FlagValue? {
            let dates = ["p": Reference.noon.addingTimeInterval(-ageInHours * 3600)]
            return ruleset.values(for: Reference.context("u", ["p": "x"], dates: dates))["probe"]
        }
        #expect(value(ageInHours: 23) == true)
        #expect(value(ageInHours: 24) == true)
        #expect(value(ageInHours: 24.01) == false)
        #expect(ruleset.values(for: Reference.context("u", ["p": "x"])) == ["probe": true])
    }

    /// Rules with a flag that is true if a property has a given value.
    private static func probe(_ property: String, _ text: String, place: [String: String] = [:]) throws -> SigmaRuleset
    {
        try Reference.ruleset(
            of: Array(
                """
                {"feature_flags":[{"name":"probe","type":"bool","rules":[
                  {"is_default":true,"value":"false","conditional_statement":"-","conditions":[]},
                  {"is_default":false,"value":"true","conditional_statement":"AND","conditions":[
                    {"name":"\(property)","condition_sign":"equal","value":["\(text)"]}]}]}]}
                """.utf8
            ),
            place: place
        )
    }
}
