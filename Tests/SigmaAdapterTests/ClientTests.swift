import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import SigmaAdapter

@Suite("Clients by tag")
struct ClientTests {
    @Test("S01 creating a client sends nothing")
    func noRequest() throws {
        let stage = try Stage()
        let client = try SigmaClientRegistry().initializeClient(
            projectToken: SigmaMock.token,
            options: stage.options
        )
        #expect(client.tag == "default")
        #expect(stage.transport.requests.isEmpty)
    }

    @Test("S02 a second client for a tag is an error")
    func secondClient() throws {
        let stage = try Stage()
        let registry = SigmaClientRegistry()
        let first = try registry.initializeClient(projectToken: "a", options: stage.options)
        #expect {
            try registry.initializeClient(projectToken: "b", options: stage.options)
        } throws: { error in
            if case SigmaError.initializationOfExistingClient(tag: "default") = error { true } else { false }
        }
        #expect(registry.getClient() === first)
    }

    @Test("S03 clients of two tags share nothing, neither user nor configuration")
    func twoTags() async throws {
        let stage = try Stage()
        let registry = SigmaClientRegistry()
        func client(_ tag: String) throws -> SigmaClient {
            try registry.initializeClient(
                projectToken: SigmaMock.token,
                initialUser: stage.user(),
                apiURL: "https://sigma.example/api/v1/",
                tag: tag,
                options: stage.options
            )
        }
        let one = try client("one")
        let two = try client("two")
        one.editUserProperties { $0.setUserId("force-a") }
        #expect(try await one.text("button") == "blue")
        #expect(try await two.text("button") == "red")
        #expect(stage.transport.paths == Array(repeating: "/api/v1/config.json", count: 2))
    }

    @Test("S04 a removed client is gone, and its tag can be used again")
    func removal() throws {
        let stage = try Stage()
        let registry = SigmaClientRegistry()
        let first = try registry.initializeClient(projectToken: "a", tag: "t", options: stage.options)
        #expect(registry.getClient(tag: "t") === first)
        #expect(registry.getClient() == nil)
        registry.removeClient(tag: "t")
        registry.removeClient(tag: "t")
        #expect(registry.getClient(tag: "t") == nil)
        let second = try registry.initializeClient(projectToken: "a", tag: "t", options: stage.options)
        #expect(second !== first)
    }

    @Test("tags are compared byte by byte")
    func exactTags() throws {
        let stage = try Stage()
        let registry = SigmaClientRegistry()
        let tags = ["\u{e9}", "e\u{301}"]
        let clients = try tags.map {
            try registry.initializeClient(projectToken: "a", tag: $0, options: stage.options)
        }
        #expect(zip(tags, clients).allSatisfy { registry.getClient(tag: $0) === $1 })
        registry.removeClient(tag: tags[0])
        #expect(tags.map { registry.getClient(tag: $0) === clients[1] } == [false, true])
    }

    @Test("the process has one set of clients under Sigma")
    func namespace() throws {
        let tag = "namespace-\(UUID().uuidString)"
        let options = SigmaClientOptions(store: InMemoryStateStore())
        let client = try Sigma.initializeClient(projectToken: "a", tag: tag, options: options)
        #expect(Sigma.getClient(tag: tag) === client)
        #expect(throws: SigmaError.self) {
            try Sigma.initializeClient(projectToken: "a", tag: tag, options: options)
        }
        Sigma.removeClient(tag: tag)
        #expect(Sigma.getClient(tag: tag) == nil)
        #expect(Sigma.defaultClientTag == "default")
    }

    @Test("a call in progress ends although its client is removed")
    func removedUnderWay() async throws {
        let stage = try Stage()
        let registry = SigmaClientRegistry()
        _ = try registry.initializeClient(
            projectToken: SigmaMock.token,
            initialUser: stage.user(),
            apiURL: "https://sigma.example/api/v1/",
            options: stage.options
        )
        stage.transport.hold(true)
        let reading = Task { [client = registry.getClient()] in try await client?.text("button") }
        try await stage.transport.waitForRequests(1)
        registry.removeClient()
        stage.transport.hold(false)
        #expect(try await reading.value == "red")
    }

    @Test("without a user one is generated, and kept across restarts")
    func generatedUser() async throws {
        let stage = try Stage()
        var symbols = [0.1, 0.9].makeIterator()
        let draws = (0..<80).map { _ in symbols.next() ?? 0.5 }
        let first = try stage.client { options in
            options.environment.jitter = { draws[0] }
        }
        _ = try await first.getAllUserExperiments()
        let id = await first.profile.privateID()
        #expect(id.count == 80)
        let second = try stage.client { options in options.environment.jitter = { 0.99 } }
        #expect(await second.profile.privateID() == id)
        #expect(await second.profile.evaluated().context.user.id == id)
        let other = try stage.client(tag: "other") { options in options.environment.jitter = { 0.99 } }
        #expect(await other.profile.privateID() != id)
    }

    @Test(
        "a private id consists of letters and digits, for any random numbers",
        arguments: [0, 0.5, 0.999_999, 1, .nan]
    )
    func privateID(chance: Double) {
        let id = SigmaPrivateID.make { chance }
        #expect(id.utf8.count == 80)
        #expect(id.utf8.allSatisfy { byte in Character(UnicodeScalar(byte)).isLetter || (48...57).contains(byte) })
    }

    @Test("a user kept by an earlier run stays unless another is given")
    func keptUser() async throws {
        let stage = try Stage()
        let first = try stage.client(stage.user("force-a"))
        #expect(try await first.text("button") == "blue")
        #expect(try await stage.client().text("button") == "blue")
        #expect(try await stage.client(stage.user("u-1")).text("button") == "red")
        #expect(try await stage.client().text("button") == "red")
    }

    @Test("changes made before anything was read are applied to an earlier run's state")
    func earlyChanges() async throws {
        let stage = try Stage()
        let first = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        _ = try await first.text("chat")
        let second = try stage.client()
        second.editUserProperties { $0.setEmail("a@example.com") }
        #expect(try await second.text("chat") == "true")
        await second.saved()
        let third = try stage.client()
        third.setUserProperties { $0.setUserId("u-1") }
        await third.saved()
        #expect(try await stage.client().text("chat") == "false")
    }

    @Test("state of the vendor's own SDK is taken over once, and unreadable parts are ignored")
    func imported() async throws {
        let stage = try Stage()
        let suite = "sigma-import-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        // Registered defaults live in memory only.
        defaults.register(defaults: [
            "sigmaPrivateId.value": "old-id",
            "user.value": Data(#"{"properties":{"userId":"force-a"},"sigmaExpiration":{"userId":"soon"}}"#.utf8),
            "sigmaForcedExperiments.value": Data(#"{"closed":1,"button_test":null}"#.utf8),
        ])
        let records = SigmaSDKRecords(in: defaults)
        #expect(records.privateID == "old-id")
        #expect(records.forced == ["closed": 1, "button_test": nil])
        let client = try stage.client { $0.importing = records }
        #expect(try await client.getAllUserExperiments() == "button_test.1|closed.1")
        #expect(stage.transport.requests.first?.headerFields.userID == "old-id")
        try await client.excludeForceAll()
        #expect(try await client.text("button") == "blue")
        let again = try stage.client { $0.importing = records }
        #expect(try await again.getAllUserExperiments() == "button_test.0")
        stage.time.advance(by: .seconds(25 * 3600))
        #expect(try await again.text("button") == "red")

        // On some platforms, registered defaults belong to the whole process, so unreadable values are tested here,
        // too.
        defaults.register(defaults: [
            "sigmaPrivateId.value": "", "user.value": Data("{".utf8), "sigmaForcedExperiments.value": Data("[".utf8),
        ])
        #expect(SigmaSDKRecords(in: defaults) == SigmaSDKRecords())
        #expect(SigmaSDKRecords.suiteName(token: "t") == "storagedefaultt")
    }

    @Test(
        "invalid times are brought into range",
        arguments: [(0, 10), (9, 10), (10, 10), (UInt.max, 3_153_600_000), (1 << 63, 3_153_600_000)] as [(UInt, Int)]
    )
    func lifetimes(asked: UInt, seconds: Int) {
        let configuration = SigmaConfiguration(
            projectToken: "t",
            cacheLifetime: .seconds(Int64(clamping: asked))
        )
        #expect(configuration.cacheLifetime == .seconds(seconds))
    }

    @Test(
        "an infinite time-out or number of attempts doesn't trap",
        arguments: [Double.infinity, .nan, -1, 1e300, 0.4]
    )
    func oddTimes(timeout: Double) async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(status: 500))
        let client = try SigmaClientRegistry().initializeClient(
            projectToken: SigmaMock.token,
            apiURL: "https://sigma.example/api/v1/",
            cacheTTL: .max,
            retryCount: .max,
            fetchTimeout: timeout,
            options: stage.options
        )
        #expect(await failure { () async throws(SigmaError) in try await client.text("button") } != nil)
        #expect(stage.transport.requests.count == 101)
    }
}
