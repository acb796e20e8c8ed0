import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("checkFlag: forced, holdout, experiment, rules, default")
struct FlagTests {
    @Test("S25 without a matching rule a flag has its default rule's value")
    func defaultRule() async throws {
        let stage = try Stage()
        let value: Bool? = try await stage.client(stage.user()).checkFlag(flagName: "chat")
        #expect(value == false)
    }

    @Test("S26 a rule on a custom property and on the version matches; 2.10.0 isn't below 2.10")
    func matchingRule() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        let value: Bool? = try await client.checkFlag(flagName: "chat")
        #expect(value == true)
    }

    @Test("S27 an older version doesn't match")
    func olderVersion() async throws {
        let stage = try Stage()
        let client = try stage.client(
            stage.user { $0.setCustomProperty("pro", key: "plan").setAppVersion("2.9") }
        )
        let value: Bool? = try await client.checkFlag(flagName: "chat")
        #expect(value == false)
    }

    @Test("S28 an object is returned as an object, as a string in its original text, as a number not at all")
    func object() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        let object: [String: FlagValue]? = try await client.checkFlag(flagName: "limits")
        let text: String? = try await client.checkFlag(flagName: "limits")
        let number: Int? = try await client.checkFlag(flagName: "limits")
        #expect(object == ["max": 3])
        #expect(text == #"{"max":3}"#)
        #expect(number == nil)
    }

    @Test("S29 a fraction is a Double, and not an Int")
    func fraction() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        let double: Double? = try await client.checkFlag(flagName: "ratio")
        let int: Int? = try await client.checkFlag(flagName: "ratio")
        #expect(double == 0.25)
        #expect(int == nil)
    }

    @Test("S30 a flag of another platform doesn't exist")
    func otherPlatform() async throws {
        try await Self.expectFailure("web_only") { .featureFlagNotFound(featureFlag: $0) }
    }

    @Test("S31 a flag without rules is reported as such")
    func noRules() async throws {
        try await Self.expectFailure("broken_rules") { .featureFlagNoRules(featureFlag: $0) }
    }

    @Test("S32 a flag without a matching rule is reported as such, and an empty OR never matches")
    func emptyOr() async throws {
        try await Self.expectFailure("strict") { .featureFlagRulesNotSatisfied(featureFlag: $0) }
    }

    @Test("S33 an unknown flag isn't found")
    func unknown() async throws { try await Self.expectFailure("nosuch") { .featureFlagNotFound(featureFlag: $0) } }

    @Test("S34 an experiment's value takes precedence over the flag's own rules")
    func experiment() async throws {
        let stage = try Stage()
        #expect(try await stage.client(stage.user()).text("button") == "red")
    }

    @Test("S35 a user on a group's list is in that group")
    func forced() async throws {
        let stage = try Stage()
        #expect(try await stage.client(stage.user("force-a")).text("button") == "blue")
    }

    @Test("S36 outside the audience the flag's own rules apply")
    func outsideAudience() async throws {
        let stage = try Stage()
        #expect(try await stage.client(stage.user { $0.setOsName("Other") }).text("button") == "grey")
    }

    @Test("S37 forced lists take precedence over the audience")
    func forcedOutsideAudience() async throws {
        let stage = try Stage()
        #expect(try await stage.client(stage.user("force-a") { $0.setOsName("Other") }).text("button") == "blue")
    }

    @Test("S38 a holdout keeps the user out of the experiment")
    func holdout() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("held"))
        #expect(try await client.text("button") == "grey")
        #expect(try await client.getHoldout(name: "hold_q1"))
    }

    @Test("S39 a flag of only an experiment is nil outside it, without an error")
    func unavailable() async throws {
        let stage = try Stage()
        let value: Bool? = try await stage.client(stage.user("held")).checkFlag(flagName: "only_in_test")
        #expect(value == nil)
    }

    @Test("S65 all flags with a value are listed in their declared types")
    func allFlags() async throws {
        let stage = try Stage()
        let details = try await stage.client(stage.user()).getUserFeatureFlagsDetails()
        #expect(details.keys.sorted() == ["button", "chat", "limits", "only_in_test", "ratio"])
        #expect(details["button"] as? String == "red")
        #expect(details["chat"] as? Bool == false)
        #expect(details["limits"] as? [String: FlagValue] == ["max": 3])
        #expect(details["only_in_test"] as? Bool == true)
        #expect(details["ratio"] as? Double == 0.25)
    }

    @Test(
        "strings are converted to the requested type, or not returned",
        arguments: [
            "true", "false", "TRUE", "1", "3", "3.0", "-4", "1e3", "nan", "", "{\"a\":1}", "[1]", "9223372036854775808",
        ]
    )
    func conversions(text: String) {
        let expected: [String: (Bool?, Int?, Double?, [String: FlagValue]?)] = [
            "true": (true, nil, nil, nil), "false": (false, nil, nil, nil), "TRUE": (nil, nil, nil, nil),
            "1": (nil, 1, 1, nil), "3": (nil, 3, 3, nil), "3.0": (nil, nil, 3, nil), "-4": (nil, -4, -4, nil),
            "1e3": (nil, nil, 1000, nil), "nan": (nil, nil, nil, nil), "": (nil, nil, nil, nil),
            "{\"a\":1}": (nil, nil, nil, ["a": 1]), "[1]": (nil, nil, nil, nil),
            "9223372036854775808": (nil, nil, 9.223372036854775808e18, nil),
        ]
        #expect(Bool(sigmaString: text) == expected[text]?.0)
        #expect(Int(sigmaString: text) == expected[text]?.1)
        #expect(Double(sigmaString: text) == expected[text]?.2)
        #expect([String: FlagValue](sigmaString: text) == expected[text]?.3)
        #expect(String(sigmaString: text) == text)
    }

    @Test("a neutral read goes by the flag's declared type, the vendor's call by the requested one")
    func declaredTypes() async throws {
        func flag(_ name: String, _ type: FlagValue?, _ text: String) -> FlagValue {
            var flag: [String: FlagValue] = [
                "name": .string(name),
                "rules": [
                    [
                        "is_default": true, "value": .string(text), "conditional_statement": "-", "conditions": [],
                    ]
                ],
            ]
            flag["type"] = type
            return .object(flag)
        }
        let configuration: FlagValue = [
            "use_geo": false, "experiments": [],
            "feature_flags": [
                flag("untyped", nil, "true"), flag("odd", "color", "5"), flag("digits", "string", "5"),
                flag("limits", "json", #"{"max":3}"#),
            ],
        ]
        let stage = Stage(configuration: String(decoding: try JSON.encode(configuration), as: UTF8.self))
        let client = try await ProviderTests.client(stage)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        #expect(["untyped", "odd", "digits"].map { session.string($0, default: "none") } == ["true", "5", "5"])
        #expect(session.object("limits", default: [:]) == ["max": 3])
        let codes = [
            session.details("untyped", default: false).errorCode, session.details("odd", default: 0).errorCode,
            session.details("digits", default: 0).errorCode, session.details("limits", default: "none").errorCode,
        ]
        #expect(codes == Array(repeating: .typeMismatch, count: 4))
        await client.shutdown()

        let typed = try stage.client(stage.user())
        #expect(try await typed.checkFlag(flagName: "untyped") == true)
        #expect(try await typed.checkFlag(flagName: "odd") == 5)
        #expect(try await typed.checkFlag(flagName: "digits") == 5)
        #expect(try await typed.checkFlag(flagName: "limits") == #"{"max":3}"#)
    }

    @Test("an application's own type can be requested")
    func ownType() async throws {
        struct Colour: SigmaPropertyType, Equatable {
            var name: String
            init?(sigmaString: String) {
                guard sigmaString == "red" else { return nil }
                name = sigmaString
            }
        }
        let stage = try Stage()
        let value: Colour? = try await stage.client(stage.user()).checkFlag(flagName: "button")
        #expect(value?.name == "red")
    }

    @Test("every error and network error says what happened")
    func descriptions() {
        let errors: [SigmaError] = [
            .initializationOfExistingClient(tag: "t"), .requestConfigFailed(.noData),
            .requestLocationFailed(.wrongStatusCode(503)), .featureFlagNotFound(featureFlag: "f"),
            .featureFlagNoRules(featureFlag: "f"), .featureFlagRulesNotSatisfied(featureFlag: "f"), .experimentsEmpty,
            .experimentNotFound(experiment: "e"),
            .experimentGroupNotMatchingFeatureFlagGroup(
                experiment: "e",
                featureFlag: "f",
                userGroup: "A",
                featureFlagGroups: ["B"]
            ),
            .experimentSplitIdNotFound(experiment: "e"), .experimentGroupIndexNotFound(experiment: "e", index: 5),
            .experimentAlreadyContainsUser(experiment: "e"),
            .experimentGroupAlreadyContainsUser(experiment: "e", index: 0), .holdoutNotFound(holdout: "h"),
            .noForceIncludedExperiments,
        ]
        let network: [SigmaNetworkError] = [
            .incorrectURL("x"), .urlError(CancellationError()), .wrongStatusCode(500),
            .decodingError(CancellationError()), .noData, .customError("words"),
        ]
        #expect(errors.allSatisfy { $0.description.hasPrefix("Sigma warn: ") })
        #expect(Set(errors.map(\.description)).count == 15)
        #expect(Set(network.map(\.description)).count == 6)
    }

    private static func expectFailure(_ flag: String, _ error: (String) -> SigmaError) async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(await failure { () async throws(SigmaError) in try await client.text(flag) } == "\(error(flag))")
    }
}
