import Experimentation
import ExperimentationMigration
import Testing

@Suite("Plans")
struct PlanTests {
    static let good = """
        {
          "from": "flagship", "to": {"vendor": "sigma"},
          "stage": "live", "share": 0.25, "revision": 3, "salt": "spring", "reassignment": "refused", "pins": "kept",
          "holdsOnAlarm": false, "stageFlag": {"side": "old", "key": "stage"},
          "mapping": [
            {"old": {"experiment": "checkout", "group": "g1"}, "new": "checkout-2",
             "variations": {"control": "A", "green": "B"}, "weights": {"control": 50, "green": 50}}
          ]
        }
        """

    @Test("a plan file survives a round trip")
    func readsWhole() throws {
        let plan = try MigrationPlan(json: Array(Self.good.utf8), file: "plan.json")
        let mapping = ExperimentMapping(
            old: .init("checkout", group: "g1"),
            new: .init("checkout-2"),
            variations: ["control": "A", "green": "B"],
            weights: ["control": 50, "green": 50]
        )
        var expected = MigrationPlan(stage: .live, share: 0.25, mapping: Mapping([mapping]), salt: "spring")
        expected.revision = 3
        expected.holdsOnAlarm = false
        expected.stageFlag = .init(of: .old, key: "stage")
        #expect(plan == expected)
        #expect(plan.mapping.translate("green", ofGroup: "g1", from: .old) == "B")
        #expect(plan.mapping.translate("A", ofGroup: "checkout-2", from: .new) == "control")
        #expect(plan.document["share"] == 0.25 && plan.document["revision"] == 3)
    }

    @Test(
        "errors are reported in one line with file, line and key",
        arguments: [
            (
                "{\n\"stage\": \"begun\"}",
                #"plan.json:2: "stage": there is no "begun"; expected one of off, dualWrite, shadow, live, rampDown, complete"#
            ),
            ("{\"pins\": \"lost\"}", #"plan.json:1: "pins": there is no "lost"; expected one of kept, ignored"#),
            ("{\"salt\": \"\"}", #"plan.json:1: "salt": expected a text that is not empty"#),
            ("[]", "plan.json:1: expected an object"),
            ("{\n\n\"share\": 1.5}", #"plan.json:3: "share": expected a number from 0 to 1, found 1.5"#),
            ("{\"colour\": 1}", #"plan.json:1: "colour": unknown member"#),
            (
                "{\"mapping\": [\n{\"old\": \"a\", \"new\": \"b\",\n\"variations\": {\"x\": \"1\",\n\"y\": \"1\"}}]}",
                #"plan.json:4: "mapping[0].variations.y": "1" is mapped twice: from "x" as well"#
            ),
            (
                "{\"mapping\": [{\"old\": \"a\", \"new\": \"b\", \"variations\": {\"x\": \"1\"}},\n{\"old\": \"a\", \"new\": \"c\", \"variations\": {\"x\": \"1\"}}]}",
                #"plan.json:2: "mapping[1].old": "a" is mapped twice"#
            ),
            ("{\"revision\": -1}", #"plan.json:1: "revision": expected a whole number from 0, found -1"#),
            ("{\"revision\": 1.5}", #"plan.json:1: "revision": expected a whole number"#),
            ("{\"share\": \"half\"}", #"plan.json:1: "share": expected a number"#),
        ]
    )
    func namesTheLine(text: String, message: String) {
        let error = #expect(throws: ExperimentationError.self) {
            try MigrationPlan(json: Array(text.utf8), file: "plan.json")
        }
        #expect(error?.message == message)
    }

    @Test("a share that isn't a number is rejected")
    func shareOfNaN() {
        #expect(MigrationPlan(share: .nan).faults().map(\.key) == ["share"])
        #expect(MigrationPlan(share: .infinity).faults().map(\.key) == ["share"])
        #expect(MigrationPlan(share: -0.0).faults().isEmpty)
    }

    static func experiment(_ id: String, name: String? = nil, _ arms: [(String, FlagValue)]) -> VendorExperiment {
        VendorExperiment(
            Experiment(id: id, name: name),
            arms: arms.map { .init(Variation(id: $0.0), values: ["color": $0.1]) }
        )
    }

    @Test("a first mapping matches names, and variations by their values")
    func firstMapping() {
        let old = [Self.experiment("e1", name: "Checkout", [("1", "grey"), ("2", "green")])]
        let new = [Self.experiment("x9", name: "checkout", [("b", "green"), ("a", "grey")])]
        let mapping = Mapping(matching: old, with: new)
        #expect(mapping.experiments.map(\.variations) == [["1": "a", "2": "b"]])
        #expect(mapping.faults() == [])
        #expect(mapping.faults(old: old, new: new) == [])
        #expect(mapping.unmapped(of: old) == [])
    }

    @Test("unknown experiments and variations, missing ones and differing values are faults")
    func faultsAgainstVendors() {
        let old = [Self.experiment("e", [("1", "grey"), ("2", "green"), ("3", "blue")])]
        let new = [Self.experiment("e", [("a", "grey"), ("b", "red")])]
        let mapping = Mapping([
            ExperimentMapping(old: .init("e"), new: .init("e"), variations: ["1": "a", "2": "b", "9": "z"]),
            ExperimentMapping(old: .init("gone"), new: .init("never"), variations: ["1": "a"]),
        ])
        #expect(
            mapping.faults(old: old, new: new).map(\.description) == [
                #""mapping[0].variations.2": the flag "color" has another value in "b""#,
                #""mapping[0].variations.9": the old vendor has no variation "9""#,
                #""mapping[0].variations.9": the new vendor has no variation "z""#,
                #""mapping[0].variations": "3" of the old vendor isn't mapped"#,
                #""mapping[1].old": the old vendor has no experiment "gone""#,
                #""mapping[1].new": the new vendor has no experiment "never""#,
            ]
        )
    }
}

extension FlagValue {
    fileprivate subscript(key: String) -> FlagValue? { objectValue?[key] }
}
