import AdapterKit
import Experimentation
import Foundation
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("Groups of experiments, and the flags in them")
struct GroupTests {
    /// An experiment for all users with one group A, unless a test says otherwise.
    private static func experiment(
        _ name: String = "e",
        groups: String = #"[{"name":"A","weight":100}]"#,
        flags: String = "[]",
        _ more: String = #""allocation":100"#
    ) -> String {
        #"{"name":"\#(name)","salt":"s-\#(name)",\#(more),"groups":\#(groups),"feature_flags":\#(flags)}"#
    }

    private static func rules(_ value: String) -> String {
        #"[{"is_default":true,"value":"\#(value)","conditional_statement":"-","conditions":[]}]"#
    }

    /// A flag's part in an experiment: a value for each group.
    private static func flag(_ name: String, type: String? = "string", _ values: KeyValuePairs<String, String>)
        -> String
    {
        let groups = values.map { #"{"group":"\#($0)","rules":\#(rules($1))}"# }.joined(separator: ",")
        let type = type.map { #""type":"\#($0)","# } ?? ""
        return #"[{"name":"\#(name)",\#(type)"groups":[\#(groups)]}]"#
    }

    private static func ruleset(
        _ experiments: [String],
        flags: String = "[]",
        bucketing: SigmaBucketing = .inferred
    ) throws -> SigmaRuleset {
        let json =
            #"{"use_geo":false,"feature_flags":\#(flags),"experiments":[\#(experiments.joined(separator: ","))]}"#
        return try Reference.ruleset(of: Array(json.utf8), bucketing: bucketing)
    }

    @Test("a flag that has no type in an experiment has its own type there; one with a type keeps that")
    func types() throws {
        let flags = #"[{"name":"on","type":"bool","rules":\#(Self.rules("false"))}]"#
        func value(type: String?) throws -> FlagValue? {
            try Self.ruleset([Self.experiment(flags: Self.flag("on", type: type, ["A": "true"]))], flags: flags)
                .decisions(for: Reference.context())["on"]?.value
        }
        #expect(try value(type: nil) == true)
        #expect(try value(type: "string") == "true")
        let alone = try Self.ruleset([Self.experiment(flags: Self.flag("on", type: nil, ["A": "true"]))])
        #expect(alone.decisions(for: Reference.context())["on"]?.value == "true")
    }

    /// Positions are ids written as numbers.
    private static let byID = SigmaBucketing { _, id, _ in Double(id) ?? 0 }

    @Test(
        "a user who is forced in gets a group even past the sum of the weights, where the rest is divided likewise",
        arguments: [
            ("[10,20]", "5", "0"), ("[10,20]", "29.9", "1"), ("[10,20]", "30", "0"), ("[10,20]", "53", "0"),
            ("[10,20]", "54", "1"), ("[10,20]", "99.9", "1"), ("[0,20]", "99.9", "1"), ("[0,20]", "20", "1"),
            ("[0,0]", "50", "0"), ("[50,50]", "50", "1"), ("[]", "50", nil),
        ]
    )
    func forcedIn(weights: String, id: String, group: String?) throws {
        let all = try JSONDecoder().decode([Double].self, from: Data(weights.utf8))
        let groups = all.enumerated().map { #"{"name":"\#($0)","weight":\#($1)}"# }.joined(separator: ",")
        let more = #""allocation":0,"forced_user_list":["\#(id)"]"#
        let ruleset = try Self.ruleset([Self.experiment(groups: "[\(groups)]", more)], bucketing: Self.byID)
        #expect(
            ruleset.decisions(for: Reference.context(id)).assignments.map(\.variation.id) == (group.map { [$0] } ?? [])
        )
        let here = try Self.ruleset(
            [Self.experiment(groups: "[\(groups)]", #""allocation":0"#)],
            bucketing: Self.byID
        )
        let forced = Reference.context(id, overrides: [.include(experiment: "e", variation: nil)])
        #expect(here.decisions(for: forced).assignments.map(\.variation.id) == (group.map { [$0] } ?? []))
        #expect(here.decisions(for: Reference.context(id)).assignments.isEmpty)
    }

    @Test("past the sum of the weights no user is assigned to a group")
    func drawn() throws {
        let groups = #"[{"name":"A","weight":10},{"name":"B","weight":20}]"#
        let ruleset = try Self.ruleset([Self.experiment(groups: groups)], bucketing: Self.byID)
        let places = ["5", "10", "30", "99"].map {
            ruleset.decisions(for: Reference.context($0)).assignments.map(\.variation.id)
        }
        #expect(places == [["A"], ["B"], [], []])
    }

    @Test(
        "a group is forced by its index, even one with another's name, or whose name is another's index",
        arguments: [
            (#"["A","A"]"#, 0), (#"["A","A"]"#, 1), (#"["1","0"]"#, 0), (#"["1","0"]"#, 1), (#"["1","X","X","02"]"#, 2),
            (#"["2","X","X"]"#, 2), (#"["2","02","X","X"]"#, 3), (#"["3","03","X","X"]"#, 3),
        ]
    )
    func forcedByIndex(names: String, index: Int) async throws {
        let all = try JSONDecoder().decode([String].self, from: Data(names.utf8))
        let groups = all.map { #"{"name":"\#($0)","weight":0}"# }.joined(separator: ",")
        let experiment = Self.experiment(groups: "[\(groups)]", #""allocation":0"#)
        let stage = Stage(configuration: #"{"use_geo":false,"experiments":[\#(experiment)]}"#)
        let client = try stage.client(stage.user())
        try await client.includeForce(experimentName: "e", groupIndex: index)
        #expect(try await client.getExperiment(name: "e")?.groupIndex == index)
        #expect(try await client.getAllUserExperiments() == "e.\(index)")
    }

    @Test("an experiment may split by the device's id, its own or the one that an attribute sets")
    func byDevice() throws {
        let groups = #"[{"name":"A","weight":100},{"name":"B","weight":0,"forced_user_list":["device-1"]}]"#
        let ruleset = try Self.ruleset([Self.experiment(groups: groups, #""allocation":100,"split_by":"deviceId""#)])
        func places(_ ruleset: SigmaRuleset, _ attributes: Attributes = [:]) -> [String] {
            ruleset.decisions(for: Reference.context("u-1", attributes)).assignments.map(\.variation.id)
        }
        #expect(places(ruleset) == ["B"])
        #expect(places(ruleset, ["deviceId": "device-2"]) == ["A"])
        #expect(places(ruleset, ["userId": "device-1", "deviceId": "device-2"]) == ["A"])
        let nameless = SigmaRuleset(
            ruleset.project,
            in: Surroundings(place: [:], configuration: SigmaConfiguration(projectToken: "t", device: SigmaDevice()))
        )
        #expect(places(nameless) == [])
        #expect(places(nameless, ["deviceId": "device-1"]) == ["B"])
    }

    @Test(
        "of two experiments with one flag the first that the user is in gives the value",
        arguments: [("both", "first"), ("second only", "second"), ("neither", "own")]
    )
    func twoExperiments(id: String, value: FlagValue) throws {
        func experiment(_ name: String, _ forced: String) -> String {
            Self.experiment(
                name,
                flags: Self.flag("f", ["A": name]),
                #""allocation":0,"forced_user_list":[\#(forced)]"#
            )
        }
        let ruleset = try Self.ruleset(
            [experiment("first", #""both""#), experiment("second", #""both","second only""#)],
            flags: #"[{"name":"f","type":"string","rules":\#(Self.rules("own"))}]"#
        )
        #expect(ruleset.decisions(for: Reference.context(id))["f"]?.value == value)
    }

    @Test("in a group that the flag has no entry for, its own rules apply, and the user stays in the group")
    func noEntry() throws {
        let groups = #"[{"name":"A","weight":100},{"name":"B","weight":0}]"#
        let experiment = Self.experiment(groups: groups, flags: Self.flag("f", ["B": "b"]))
        let own = #"[{"name":"f","type":"string","rules":\#(Self.rules("own"))}]"#
        let decisions = try Self.ruleset([experiment], flags: own).decisions(for: Reference.context())
        #expect(decisions["f"]?.value == "own")
        #expect(decisions["f"]?.variant == nil)
        #expect(decisions.assignments.map(\.variation.id) == ["A"])
        let alone = try Self.ruleset([experiment]).decisions(for: Reference.context())
        #expect(alone["f"] == SigmaTranslation.noValue)
    }
}
