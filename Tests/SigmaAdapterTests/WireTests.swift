import Experimentation
import Foundation
import Testing

@testable import SigmaAdapter

@Suite("A configuration is read with the vendor's own tolerance")
struct WireTests {
    @Test("S22 broken elements are dropped alone, or with their container where the vendor's SDK is strict")
    func brokenElements() throws {
        let root = try JSONDecoder().decode(
            SigmaWire.Root.self,
            from: Data(try Reference.bytes("config-broken-elements.json"))
        )
        #expect(root.featureFlags.map(\.name) == ["good", "after"])
        #expect(root.featureFlags.first?.rules.map(\.value) == ["well"])
        #expect(root.experiments.map(\.name) == ["web", "survivor"])
        let survivor = try #require(root.experiments.last)
        #expect(survivor.groups.map(\.name) == ["A"])
        #expect(survivor.groups.first?.forcedUserList == ["f"])
        #expect(survivor.forcedUserList == ["g"])
        #expect(survivor.holdouts == ["no_such_holdout"])
        #expect(survivor.layerBounds.map(\.upper) == [100])
        #expect(survivor.params.map(\.name) == ["p"])
        #expect(survivor.params.first?.values.map(\.value) == ["kept"])
        #expect(survivor.featureFlags.map(\.name) == ["in_test"])
        #expect(survivor.featureFlags.first?.groups.map(\.group) == ["A"])
        // Three flags, five experiments, and a flag of another experiment.
        #expect(root.unreadable == 9)
    }

    @Test("the rest decides as if the broken parts didn't exist")
    func survivors() throws {
        let ruleset = try Reference.ruleset("config-broken-elements.json")
        #expect(
            ruleset.values(for: Reference.context("u", ["plan": "pro"]))
                == ["good": "well", "after": "still here", "in_test": 2.5]
        )
        #expect(ruleset.decisions(for: Reference.context()).assignments.map(\.experiment.id) == ["survivor"])
    }

    @Test(
        "numbers may be strings, but must be numeric",
        arguments: [("\"12.5\"", 12.5), ("7", 7), ("\"nan\"", nil), ("\"many\"", nil), ("null", nil), ("true", nil)]
            as [(String, Double?)]
    )
    func numbers(text: String, expected: Double?) {
        let number = try? JSONDecoder().decode(SigmaWire.NumberOrText.self, from: Data(text.utf8))
        #expect(number?.wrappedValue == expected)
    }

    @Test(
        "lists that aren't lists, and a root that isn't an object, are rejected",
        arguments: ["[]", "{\"feature_flags\":{}}", "{\"experiments\":\"\"}", "{\"use_geo\":\"no\"}", "", "{", "null"]
    )
    func wrongShape(text: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(SigmaWire.Root.self, from: Data(text.utf8)) }
    }

    @Test(
        "an object with neither flags nor experiments is no configuration; one of the two is enough",
        arguments: [
            ("{}", false), (#"{"message":"Hello"}"#, false), (#"{"use_geo":false}"#, false),
            (#"{"feature_flags":null,"experiments":null}"#, false), (#"{"feature_flags":[]}"#, true),
            (#"{"experiments":[]}"#, true),
        ]
    )
    func emptyRoot(text: String, isOne: Bool) {
        let root = try? JSONDecoder().decode(SigmaWire.Root.self, from: Data(text.utf8))
        #expect((root != nil) == isOne)
    }

    @Test(
        "platforms are compared without regard to case, and none means all",
        arguments: [
            (["ios"], true), (["APP"], true), (["All", "web"], true), ([], true), (["web"], false),
            (["android"], false),
        ]
    )
    func platforms(words: [String], ours: Bool) {
        #expect(Platform.isOurs(words) == ours)
    }

    @Test("the list of platforms takes precedence over the single one")
    func platformKeys() throws {
        func flag(_ keys: String) throws -> [String] {
            try JSONDecoder().decode(SigmaWire.Flag.self, from: Data("{\"name\":\"f\",\(keys)}".utf8)).platforms
        }
        #expect(try flag(#""platforms":["ios"],"platform":"web""#) == ["ios"])
        #expect(try flag(#""platform":"web""#) == ["web"])
        #expect(try flag(#""platforms":[],"platform":"web""#) == [])
    }

    @Test("a string that isn't of the flag's type affects no other flag")
    func wrongTexts() throws {
        func flag(_ name: String, _ type: String, _ text: String) -> String {
            """
            {"name":"\(name)","type":"\(type)","rules":[
              {"is_default":true,"value":"\(text)","conditional_statement":"-"}]}
            """
        }
        let flags = [
            flag("b", "bool", "yes"), flag("j", "json", "{"), flag("n", "number", "1e999"), flag("i", "integer", "3.5"),
            flag("s", "later", "3"), flag("u", "integer", "x"),
        ]
        let ruleset = try Reference.ruleset(of: Array("{\"feature_flags\":[\(flags.joined(separator: ","))]}".utf8))
        let decisions = ruleset.decisions(for: Reference.context())
        #expect(["b", "j", "n", "u"].map { decisions[$0]?.error } == Array(repeating: .parseError, count: 4))
        #expect(decisions["i"]?.value == 3.5)
        #expect(decisions["s"]?.value == "3")
    }

    @Test("of equal names the first one counts, and the catalogue is consistent with it")
    func duplicates() throws {
        func flag(_ name: String, _ text: String) -> String {
            """
            {"name":"\(name)","type":"string","rules":[
              {"is_default":true,"value":"\(text)","conditional_statement":"-"}]}
            """
        }
        let flags = [flag("a", "1"), flag("b", "2"), flag("a", "3"), flag("c", "4")].joined(separator: ",")
        let ruleset = try Reference.ruleset(of: Array("{\"feature_flags\":[\(flags)]}".utf8))
        #expect(ruleset.values(for: Reference.context()) == ["a": "1", "b": "2", "c": "4"])
    }

    @Test(
        "any string is a valid name",
        arguments: ["a.b.c", ".", "custom.plan", "äöü 🙂", "a\\nb", "a/../b", String(repeating: "n", count: 4_096)]
    )
    func oddNames(name: String) throws {
        let json = """
            {"feature_flags":[{"name":"\(name)","type":"bool","rules":[
              {"is_default":true,"value":"true","conditional_statement":"-"}]}]}
            """
        let ruleset = try Reference.ruleset(of: Array(json.utf8))
        let written = name.replacing("\\n", with: "\n")
        #expect(ruleset.values(for: Reference.context()) == [written: true])
    }

    @Test("ten thousand flags are read and decided")
    func manyFlags() throws {
        let flags = (0..<10_000).map { number in
            """
            {"name":"flag-\(number)","type":"integer","rules":[
              {"is_default":true,"value":"\(number)","conditional_statement":"-","conditions":[]}]}
            """
        }
        let ruleset = try Reference.ruleset(of: Array("{\"feature_flags\":[\(flags.joined(separator: ","))]}".utf8))
        let decisions = ruleset.decisions(for: Reference.context())
        #expect(decisions.keys.count == 10_000)
        #expect(decisions["flag-9999"]?.value == 9_999)
    }

    @Test("ten thousand flags of an experiment are read and decided")
    func manyPlacedFlags() throws {
        let flags = (0..<10_000).map { number in
            """
            {"name":"flag-\(number)","type":"integer","groups":[{"group":"A","rules":[
              {"is_default":true,"value":"\(number)","conditional_statement":"-","conditions":[]}]}]}
            """
        }
        let json = """
            {"experiments":[{"name":"all","salt":"s","allocation":100,"groups":[{"name":"A","weight":100}],
              "feature_flags":[\(flags.joined(separator: ","))]}]}
            """
        let ruleset = try Reference.ruleset(of: Array(json.utf8))
        let decisions = ruleset.decisions(for: Reference.context())
        #expect(decisions.keys.count == 10_000)
        #expect(decisions["flag-9999"]?.value == 9_999)
        #expect(decisions.assignments.map(\.experiment.id) == ["all"])
        #expect(ruleset.project.experiments[0].flagNames.count == 10_000)
    }
}
