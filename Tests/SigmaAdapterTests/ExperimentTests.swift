import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("A user's experiments and holdouts")
struct ExperimentTests {
    @Test("S40 an experiment split by an id that the user lacks isn't listed")
    func withoutProfile() async throws {
        let stage = try Stage()
        #expect(try await stage.client(stage.user()).getAllUserExperiments() == "button_test.1")
    }

    @Test("S41 all experiments are listed in the configuration's order, joined by bars")
    func withProfile() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setProfileId("p-1") })
        #expect(try await client.getAllUserExperiments() == "button_test.1|delay.test.0")
        #expect(try await client.allUserExperiments().map(\.name) == ["button_test", "delay.test"])
        #expect(try await client.allUserExperiments().map(\.groupIndex) == [1, 0])
        #expect(try await client.allUserExperiments().map(\.userGroupName) == ["B", "A"])
    }

    @Test("S42 holdouts are listed unless excluded; an empty result is nil")
    func holdoutsListed() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("held"))
        #expect(try await client.getAllUserExperiments() == "hold_q1.0")
        #expect(try await client.getAllUserExperiments(estimateHoldouts: true) == "hold_q1.0")
        #expect(try await client.getAllUserExperiments(estimateHoldouts: false) == nil)
        #expect(try await client.getAllUserHoldouts() == "hold_q1.0")
    }

    @Test("S43 without holdouts the result is nil")
    func noHoldouts() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(try await client.getAllUserHoldouts() == nil)
        #expect(try await client.getHoldout(name: "hold_q1") == false)
    }

    @Test("S44 an experiment isn't found as a holdout", arguments: ["button_test", "nosuch"])
    func notAHoldout(name: String) async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(
            await failure { () async throws(SigmaError) in try await client.getHoldout(name: name) }
                == "\(SigmaError.holdoutNotFound(holdout: name))"
        )
    }

    @Test("S45 an experiment without the user is nil, an unknown one an error")
    func notIn() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(try await client.getExperiment(name: "closed") == nil)
        #expect(
            await failure { () async throws(SigmaError) in try await client.getExperiment(name: "nosuch") }
                == "\(SigmaError.experimentNotFound(experiment: "nosuch"))"
        )
    }

    @Test("S46 a user on the experiment's list is in it, always in the same group")
    func vip() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("vip"))
        for _ in 0..<3 { #expect(try await client.getExperiment(name: "closed")?.groupIndex == 1) }
        #expect(try await stage.client(stage.user("vip"), tag: "other").getExperiment(name: "closed")?.groupIndex == 1)
    }

    @Test("S47 parameters are read as the requested type")
    func params() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setProfileId("p-1") })
        let experiment = try #require(try await client.getExperiment(name: "delay.test"))
        let int: Int? = experiment.getParamValue(name: "ms")
        let double: Double? = experiment.getParamValue(name: "ms")
        let bool: Bool? = experiment.getParamValue(name: "ms")
        let object: [String: FlagValue]? = experiment.getParamValue(name: "cfg")
        let unknown: String? = experiment.getParamValue(name: "nosuch")
        #expect(int == 300)
        #expect(double == 300)
        #expect(bool == nil)
        #expect(object == ["k": [1, 2]])
        #expect(unknown == nil)
    }

    @Test("S48 a flag without a value for the user's group lists the groups that have one")
    func wrongGroup() async throws {
        let stage = try Stage()
        let experiment = try #require(
            try await stage.client(stage.user("force-a")).getExperiment(name: "button_test")
        )
        do throws(SigmaError) {
            let _: Bool? = try experiment.getFeatureValue(flagName: "only_in_test")
            Issue.record("expected an error")
        } catch {
            guard case .experimentGroupNotMatchingFeatureFlagGroup("button_test", "only_in_test", "A", ["B"]) = error
            else { Issue.record("\(error)"); return }
        }
        let colour: String? = try experiment.getFeatureValue(flagName: "button")
        let older: String? = try experiment.getFeatureFlagValue(flagName: "button")
        let number: Int? = try experiment.getFeatureValue(flagName: "button")
        #expect(colour == "blue")
        #expect(older == "blue")
        #expect(number == nil)
    }

    @Test(
        "within an experiment a flag's own rules don't apply",
        arguments: [
            ("elsewhere", SigmaError.featureFlagNotFound(featureFlag: "elsewhere")),
            ("nosuch", .featureFlagNotFound(featureFlag: "nosuch")),
            ("empty", .featureFlagNoRules(featureFlag: "empty")),
            ("strict", .featureFlagRulesNotSatisfied(featureFlag: "strict")),
        ]
    )
    func featureErrors(flag: String, expected: SigmaError) async throws {
        let stage = Stage(
            configuration: """
                {"use_geo":false,
                 "feature_flags":[{"name":"elsewhere","rules":[
                   {"is_default":true,"value":"x","conditional_statement":"-","conditions":[]}]}],
                 "experiments":[{"name":"e","salt":"s","allocation":100,"groups":[{"name":"A","weight":100}],
                   "feature_flags":[{"name":"empty","groups":[{"group":"A","rules":[]}]},
                     {"name":"strict","groups":[{"group":"A","rules":[
                       {"is_default":false,"value":"x","conditional_statement":"OR","conditions":[]}]}]}]}]}
                """
        )
        let experiment = try #require(try await stage.client(stage.user()).getExperiment(name: "e"))
        do throws(SigmaError) {
            let _: String? = try experiment.getFeatureValue(flagName: flag)
            Issue.record("expected an error")
        } catch {
            #expect("\(error)" == "\(expected)")
        }
    }

    @Test("a holdout can be requested as an experiment, with index 0")
    func holdoutAsExperiment() async throws {
        let stage = try Stage()
        let holdout = try await stage.client(stage.user("held")).getExperiment(name: "hold_q1")
        #expect(holdout?.groupIndex == 0)
    }

    @Test("S66 the details of all experiments are listed, with their flags or parameters")
    func details() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setProfileId("p-1") })
        #expect(
            try await client.getUserExperimentsDetails() == [
                SigmaExperimentDetail(
                    type: "featureFlag",
                    id: "button_test",
                    group: .init(index: 1),
                    results: [.init(name: "button", value: "red"), .init(name: "only_in_test", value: "true")]
                ),
                SigmaExperimentDetail(
                    type: "parameter",
                    id: "delay.test",
                    group: .init(index: 0),
                    results: [.init(name: "ms", value: "300"), .init(name: "cfg", value: #"{"k":[1,2]}"#)]
                ),
            ]
        )
        let held = try stage.client(stage.user("held"), tag: "held")
        #expect(try await held.getUserExperimentsDetails().map(\.type) == ["holdout"])
        #expect(try await held.getUserExperimentsDetails(estimateHoldouts: false) == [])
    }

    @Test("S70 an experiment object keeps its values when the configuration changes")
    func snapshot() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user { $0.setProfileId("p-1") })
        let experiment = try #require(try await client.getExperiment(name: "delay.test"))
        let text = String(decoding: try Reference.bytes("config-reference.json"), as: UTF8.self)
        stage.sigma.serve(text.replacing("\"300\"", with: "\"500\""))
        stage.time.advance(by: .seconds(11))
        client.clearUserProperties()
        client.editUserProperties { $0.setProfileId("p-1") }
        let new = try #require(try await client.getExperiment(name: "delay.test"))
        let before: Int? = experiment.getParamValue(name: "ms")
        let after: Int? = new.getParamValue(name: "ms")
        #expect(before == 300)
        #expect(after == 500)
    }
}
