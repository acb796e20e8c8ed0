import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("The local forced list takes precedence over everything, and stays on this device")
struct ForcingTests {
    @Test("S49 a forced group applies at once and survives a restart")
    func include() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        #expect(try await Self.param(client) == "b")
        #expect(try await Self.param(stage.client()) == "b")
        #expect(stage.transport.requests.count == 1)
    }

    @Test("S50 another group of the same experiment replaces the first one")
    func move() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        try await client.includeForce(experimentName: "closed", groupIndex: 0)
        #expect(try await Self.param(client) == "a")
        try await client.includeForce(experimentName: "closed")
        try await client.includeForce(experimentName: "closed", groupIndex: 0)
        #expect(try await Self.param(client) == "a")
    }

    @Test("S51 the same group twice is an error, and so is the same experiment without a group")
    func repeated() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        try await client.includeForce(experimentName: "closed", groupIndex: 0)
        #expect(
            await Self.include(client, "closed", 0)
                == "\(SigmaError.experimentGroupAlreadyContainsUser(experiment: "closed", index: 0))"
        )
        try await client.includeForce(experimentName: "closed")
        #expect(
            await Self.include(client, "closed", nil)
                == "\(SigmaError.experimentAlreadyContainsUser(experiment: "closed"))"
        )
    }

    @Test("S52 an index that the experiment lacks is an error", arguments: [5, 2, -1])
    func unknownIndex(index: Int) async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(
            await Self.include(client, "closed", index)
                == "\(SigmaError.experimentGroupIndexNotFound(experiment: "closed", index: index))"
        )
        #expect(try await client.getExperiment(name: "closed") == nil)
    }

    @Test("S53 an experiment split by an id that the user lacks can't be forced")
    func noID() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(
            await Self.include(client, "delay.test", nil)
                == "\(SigmaError.experimentSplitIdNotFound(experiment: "delay.test"))"
        )
        #expect(
            await Self.include(client, "delay.test", 9)
                == "\(SigmaError.experimentSplitIdNotFound(experiment: "delay.test"))"
        )
        #expect(
            await Self.include(client, "nosuch", 9) == "\(SigmaError.experimentNotFound(experiment: "nosuch"))"
        )
    }

    @Test("S54 the local list takes precedence over the service's")
    func beforeService() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("force-a"))
        try await client.includeForce(experimentName: "button_test", groupIndex: 1)
        #expect(try await client.text("button") == "red")
    }

    @Test("S55 removing an entry undoes it and nothing else")
    func exclude() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("force-a"))
        try await client.includeForce(experimentName: "button_test", groupIndex: 1)
        try await client.includeForce(experimentName: "closed", groupIndex: 0)
        try await client.excludeForce(experimentName: "button_test")
        #expect(try await client.text("button") == "blue")
        #expect(try await Self.param(client) == "a")
        try await client.excludeForce(experimentName: "button_test")
        #expect(
            await failure { () async throws(SigmaError) in try await client.excludeForce(experimentName: "nosuch") }
                == "\(SigmaError.experimentNotFound(experiment: "nosuch"))"
        )
    }

    @Test("S56 with nothing forced there is nothing to undo")
    func nothingForced() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        let expected = "\(SigmaError.noForceIncludedExperiments)"
        #expect(await failure { () async throws(SigmaError) in try await client.excludeForceAll() } == expected)
        #expect(
            await failure { () async throws(SigmaError) in try await client.excludeForce(experimentName: "closed") }
                == expected
        )
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        try await client.includeForce(experimentName: "button_test", groupIndex: 0)
        try await client.excludeForceAll()
        #expect(try await client.getAllUserExperiments() == "button_test.1")
        #expect(try await stage.client().getAllUserExperiments() == "button_test.1")
        #expect(await failure { () async throws(SigmaError) in try await client.excludeForceAll() } == expected)
    }

    @Test("S57 the list isn't tied to a user")
    func otherUser() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("x"))
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        client.setUser(stage.user("y"))
        #expect(try await Self.param(client) == "b")
        client.clearUserProperties()
        #expect(try await Self.param(client) == "b")
    }

    @Test("S58 without any experiment nothing can be forced")
    func noExperiments() async throws {
        let stage = Stage(configuration: #"{"use_geo":false,"feature_flags":[]}"#)
        let client = try stage.client(stage.user())
        #expect(await Self.include(client, "any", nil) == "\(SigmaError.experimentsEmpty)")
    }

    @Test("without a configuration nothing can be forced")
    func noConfiguration() async throws {
        let stage = try Stage()
        stage.transport.setReachable(false)
        let client = try stage.client(stage.user()) { $0.failures = .nil }
        #expect(await Self.include(client, "closed", 0)?.contains("the configuration is unavailable") == true)
    }

    @Test("clients of other tags and tokens have separate lists")
    func apart() async throws {
        let stage = try Stage()
        stage.sigma.serve(String(decoding: try Reference.bytes("config-reference.json"), as: UTF8.self), for: "other")
        try await stage.client(stage.user()).includeForce(experimentName: "closed", groupIndex: 1)
        #expect(try await Self.param(stage.client(stage.user(), tag: "other")) == nil)
        #expect(try await Self.param(stage.client(stage.user(), token: "other")) == nil)
        #expect(try await Self.param(stage.client()) == "b")
    }

    @Test("an entry for a group that no longer exists is ignored")
    func goneGroup() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        try await client.includeForce(experimentName: "closed", groupIndex: 1)
        let text = String(decoding: try Reference.bytes("config-reference.json"), as: UTF8.self)
        stage.sigma.serve(text.replacing(#", { "name": "B", "weight": 50 }"#, with: ""))
        stage.time.advance(by: .seconds(11))
        #expect(try await client.getExperiment(name: "closed") == nil)
    }

    @Test("an unreadable record counts as missing")
    func brokenRecord() async throws {
        let stage = try Stage()
        try await stage.client(stage.user()).includeForce(experimentName: "closed", groupIndex: 1)
        for key in try await stage.store.keys(beginningWith: "") {
            try await stage.store.setValue(Array("1\n{broken".utf8), for: key)
        }
        let client = try stage.client(stage.user())
        #expect(try await client.text("button") == "red")
        #expect(try await client.getExperiment(name: "closed") == nil)
    }

    private static func param(_ client: SigmaClient) async throws -> String? {
        try await client.getExperiment(name: "closed")?.getParamValue(name: "p")
    }

    private static func include(_ client: SigmaClient, _ name: String, _ index: Int?) async -> String? {
        await failure { () async throws(SigmaError) in
            try await client.includeForce(experimentName: name, groupIndex: index)
        }
    }
}
