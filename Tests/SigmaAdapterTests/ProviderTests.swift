import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import SigmaAdapter

@Suite("Sigma behind the neutral client")
struct ProviderTests {
    @Test("flags, experiments and holdouts of all users are read from one configuration")
    func reading() async throws {
        let stage = try Stage()
        let client = try await Self.client(stage)
        let ada = client.session(for: User(id: "u-1", attributes: ["plan": "pro"]))
        let held = client.session(for: User(id: "held"))
        try await ada.refresh()
        try await held.refresh()
        #expect(ada.bool("chat", default: false))
        #expect(ada.double("ratio", default: 0) == 0.25)
        #expect(ada.details("button", default: "none").value == "red")
        #expect(ada.details("button", default: "none").variant == "B")
        #expect(held.string("button", default: "none") == "grey")
        #expect(held.assignments.map(\.isHoldout) == [true])
        #expect(ada.details("web_only", default: false).errorCode == .flagNotFound)
        #expect(ada.details("strict", default: "mine").value == "mine")
        #expect(stage.transport.paths == ["/api/v1/config.json"])
        #expect(client.bool("chat", default: true, for: User(id: "u-2")) == false)
        await client.shutdown()
    }

    @Test("an attribute counts for 24 hours after it was set, and setting it again renews them")
    func lifetime() async throws {
        let stage = try Stage()
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1", attributes: ["plan": "pro"]))
        func isOn(after hours: Int) async throws -> Bool {
            stage.time.advance(by: .seconds(hours * 3_600))
            try await session.refresh()
            return session.bool("chat", default: false)
        }
        #expect(try await isOn(after: 0))
        #expect(try await isOn(after: 23))
        try session.update(["plan": "pro"])
        #expect(try await isOn(after: 2))
        #expect(try await isOn(after: 23) == false)
        try session.update(["plan": "team"])
        #expect(try await isOn(after: 1))
        await client.shutdown()
    }

    @Test("an override applies after the next refresh, without a request")
    func overrides() async throws {
        let stage = try Stage()
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        try await client.force(.include(experiment: "button_test", variation: "A"))
        try await session.refresh()
        #expect(session.string("button", default: "none") == "blue")
        await client.removeOverrides()
        try await session.refresh()
        #expect(session.string("button", default: "none") == "red")
        #expect(stage.transport.requests.count == 1)
        await client.shutdown()
    }

    @Test("an overdue configuration is fetched with the next refresh, and the last good one survives a failure")
    func stale() async throws {
        let stage = try Stage()
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        stage.time.advance(by: .seconds(11))
        stage.transport.setReachable(false)
        await #expect(throws: ExperimentationError.self) { try await session.refresh() }
        #expect(session.details("button", default: "none").reason == .stale)
        #expect(session.string("button", default: "none") == "red")
        stage.transport.setReachable(true)
        try await session.refresh()
        #expect(session.details("button", default: "none").reason == .split)
        await client.shutdown()
    }

    @Test("rules and location of an earlier run are used while the vendor is unreachable")
    func offlineStart() async throws {
        let stage = Stage(configuration: Self.kazan)
        let store = ClientStore.inMemory()
        let first = try await Self.client(stage, store: store)
        let before = first.session(for: User(id: "u-1"))
        try await before.refresh()
        #expect(before.bool("here", default: false))
        await first.shutdown()
        stage.transport.setReachable(false)
        let second = try await Self.client(stage, store: store)
        let after = second.session(for: User(id: "u-1"))
        stage.time.advance(by: .seconds(60))
        try? await after.refresh()
        #expect(after.bool("here", default: false))
        await second.shutdown()
    }

    @Test("unreadable parts of a configuration are logged whenever it is received")
    func unreadable() async throws {
        let (stage, log) = (try Stage("config-broken-elements.json"), RecordingLog(level: .warning))
        let client = try await Self.client(stage, log: log)
        try await client.session(for: User(id: "u-1")).refresh()
        let warning = "9 flags and experiments of the configuration can't be read"
        #expect(log.entries == [LogEntry(.warning, "sigma.configuration", warning)])
        await client.shutdown()
    }

    @Test("an unavailable location doesn't prevent fetching the rules")
    func noPlace() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.sigma.servePlace("nonsense")
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        #expect(session.details("here", default: true).value == false)
        await client.shutdown()
    }

    @Test("a location that stalls delays the rules by two seconds at most, and is used once it is there")
    func latePlace() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.transport.hold(true, path: "/api/v1/geo")
        defer { stage.transport.hold(false) }
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1"))
        let refreshing = Task { try await session.refresh() }
        try await stage.transport.waitForRequests(2)
        #expect(session.bool("here", default: true))
        stage.time.advance(by: .seconds(3))
        try await eventually("rules without a location") { !session.bool("here", default: true) }
        try await refreshing.value

        // The request in progress is neither repeated nor waited for again.
        stage.time.advance(by: .seconds(11))
        try await session.refresh()
        #expect(stage.transport.paths == ["/api/v1/config.json", "/api/v1/geo", "/api/v1/config.json"])

        stage.transport.hold(false)
        try await eventually("rules with a location") {
            try await session.refresh(force: true)
            return session.bool("here", default: false)
        }
        await client.shutdown()
    }

    @Test("a location request in progress ends with the client")
    func placeEnds() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.transport.hold(true, path: "/api/v1/geo")
        defer { stage.transport.hold(false) }
        let client = try await Self.client(stage)
        let refreshing = Task { try await client.refresh() }
        try await stage.transport.waitForRequests(2)
        await client.shutdown()
        try await eventually("the end of the request") { stage.transport.abandoned == 1 }
        _ = await refreshing.result
    }

    @Test("a location is no longer requested when the rules arrive after the client's end")
    func noPlaceAfterEnd() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.transport.hold(true, path: "/api/v1/config.json")
        defer { stage.transport.hold(false) }
        let client = try await Self.client(stage)
        let refreshing = Task { try await client.refresh() }
        try await stage.transport.waitForRequests(1)
        await client.shutdown()
        stage.transport.hold(false)
        _ = await refreshing.result
        #expect(stage.transport.paths == ["/api/v1/config.json"])
    }

    @Test("identical bytes don't count as new rules")
    func unchanged() async throws {
        let stage = try Stage()
        guard case .computed(let source) = try await Self.roles(stage).decisions else {
            Issue.record("expected rules")
            return
        }
        guard case .replaced(_, let validator?, let raw) = try await source.ruleset(ifNot: nil) else {
            Issue.record("expected new rules")
            return
        }
        guard case .unchanged = try await source.ruleset(ifNot: validator) else {
            Issue.record("expected the same rules")
            return
        }
        let restored = try source.ruleset(restoring: raw)
        #expect(restored.decisions(for: Reference.context())["button"]?.value == "red")
        for broken in [[], Array("x".utf8), Array("{}\n{".utf8), Array("[]\n{}".utf8)] {
            #expect(throws: ExperimentationError.self) { try source.ruleset(restoring: broken) }
        }
    }

    @Test("an earlier run's location doesn't replace a newer one")
    func oldPlace() async throws {
        let stage = Stage(configuration: Self.kazan)
        guard case .computed(let source) = try await Self.roles(stage).decisions,
            case .replaced(_, _, let old) = try await source.ruleset(ifNot: nil)
        else {
            Issue.record("expected rules")
            return
        }
        stage.sigma.servePlace(#"{"city":"Omsk"}"#)
        _ = try await source.ruleset(ifNot: nil)
        _ = try source.ruleset(restoring: old)
        stage.sigma.servePlace("nonsense")
        guard case .replaced(let rules, _, _) = try await source.ruleset(ifNot: nil) else {
            Issue.record("expected rules")
            return
        }
        #expect(rules.decisions(for: Reference.context())["here"]?.value == false)
    }

    @Test("of restored locations the last one counts until there is an answer, as on machines that share their rules")
    func restoredPlaces() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.sigma.servePlace("nonsense")
        guard case .computed(let source) = try await Self.roles(stage).decisions else {
            Issue.record("expected rules")
            return
        }
        for place in ["{}", #"{"geo.city":"Omsk"}"#, #"{"geo.city":"Kazan"}"#] {
            _ = try source.ruleset(restoring: Array("\(place)\n\(Self.kazan)".utf8))
        }
        guard case .replaced(let rules, _, _) = try await source.ruleset(ifNot: nil) else {
            Issue.record("expected rules")
            return
        }
        #expect(rules.decisions(for: Reference.context())["here"]?.value == true)
    }

    @Test(
        "an installation's id that can't be sent is refused, as it would be sent as another",
        arguments: ["", "a\r\nb", " a"]
    )
    func unusablePrivateID(id: String) async throws {
        var configuration = Self.provider(try Stage()).configuration
        configuration.privateID = id
        await #expect(throws: ExperimentationError.self) {
            try await SigmaProvider(configuration: configuration).start(in: ProviderContext())
        }
    }

    @Test("an earlier run's location counts only where one may be requested", arguments: [true, false])
    func restoredPlace(asksForPlace: Bool) async throws {
        let stage = Stage(configuration: Self.kazan)
        var configuration = Self.provider(stage).configuration
        configuration.asksForPlace = asksForPlace
        let roles = try await SigmaProvider(configuration: configuration, transport: stage.transport)
            .start(in: ProviderContext())
        guard case .computed(let source) = roles.decisions else {
            Issue.record("expected rules")
            return
        }
        let rules = try source.ruleset(restoring: Array("{\"geo.city\":\"Kazan\"}\n\(Self.kazan)".utf8))
        #expect(rules.decisions(for: Reference.context())["here"]?.value == .bool(asksForPlace))
    }

    @Test("events are unsupported, and reported as such")
    func noEvents() async throws {
        let stage = try Stage()
        #expect(try await Self.roles(stage).events == nil)
        let client = try await Self.client(stage)
        let session = client.session(for: User(id: "u-1"))
        await #expect(throws: ExperimentationError.self) { try await session.track(.custom("seen")) }
        #expect(try await client.ledger() == Ledger())
        await client.shutdown()
    }

    @Test(
        "invalid settings are rejected at the start",
        arguments: [("", "https://a.example/"), ("t", "http://a.example/")]
    )
    func badSettings(token: String, apiURL: String) async throws {
        do throws(ExperimentationError) {
            let configuration = SigmaConfiguration(projectToken: Secret(token), endpoint: try Endpoint(apiURL))
            _ = try await SigmaProvider(configuration: configuration).start(in: ProviderContext())
            Issue.record("expected an error")
        } catch {
            #expect(error.code == .configuration)
        }
    }

    @Test(
        "each of the vendor's answers becomes a code",
        arguments: [
            (SigmaMockBehaviour(status: 401), ErrorCode.unauthorized), (.init(status: 500), .vendorFault),
            (.init(status: 302), .vendorFault), (.init(emptyBody: true), .parseError),
            (.init(truncateBody: true), .parseError), (.init(dropConnection: true), .transport),
        ]
    )
    func codes(behaviour: SigmaMockBehaviour, code: ErrorCode) async throws {
        let stage = try Stage()
        stage.sigma.set(behaviour)
        let client = try await Self.client(stage)
        do throws(ExperimentationError) {
            try await client.refresh()
            Issue.record("expected an error")
        } catch {
            #expect(error.code == code)
            #expect(!"\(error)".contains(SigmaMock.token))
        }
        await client.shutdown()
    }

    @Test("a user's variations are written for analytics as the vendor's SDK writes them")
    func analytics() async throws {
        let places = try Reference.ruleset().decisions(
            for: Reference.context("u-1", ["profileId": "p-1"])
        ).assignments
        #expect(Sigma.experiments(of: places) == "button_test.1|delay.test.0")
        let held = try Reference.ruleset().decisions(for: Reference.context("held")).assignments
        #expect(Sigma.experiments(of: held) == "hold_q1.0")
        #expect(Sigma.experiments(of: held, includingHoldouts: false) == nil)
        #expect(Sigma.holdouts(of: held) == "hold_q1.0")
        #expect(Sigma.holdouts(of: places) == nil)
    }

    @Test("settings are read from a configuration file")
    func settings() throws {
        var reader = try SettingsReader(
            json: Array(
                """
                {"projectToken":{"env":"TOKEN"},"endpoints":{"api":"http://127.0.0.1:8081/api/v1/"},"cacheTTL":3,
                 "retryCount":2,"fetchTimeout":1.5,"geo":false,"privateID":"me","device":{"osName":"iOS"}}
                """.utf8
            ),
            file: "sigma.json",
            environment: ["TOKEN": "t"]
        )
        let configuration = try SigmaConfiguration(reading: &reader)
        try reader.finish()
        #expect(configuration.projectToken == Secret("t"))
        #expect(try configuration.endpoint == Endpoint("http://127.0.0.1:8081/api/v1"))
        #expect(configuration.cacheLifetime == .seconds(10))
        #expect(configuration.retryCount == 2)
        #expect(configuration.fetchTimeout == .seconds(1.5))
        #expect(!configuration.asksForPlace)
        #expect(configuration.privateID == "me")
        #expect(configuration.device.osName == "iOS")
    }

    @Test(
        "invalid settings are reported by file and key",
        arguments: [
            ("{}", "projectToken"), (#"{"projectToken":""}"#, "projectToken"),
            (#"{"projectToken":"t","endpoints":{"api":"http://example.com"}}"#, "endpoints.api"),
            (#"{"projectToken":"t","cacheTTL":-1}"#, "cacheTTL"),
            (#"{"projectToken":"t","cacheTTL":9e99}"#, "cacheTTL"),
            (#"{"projectToken":"t","retryCount":1.5}"#, "retryCount"), (#"{"projectToken":"t","geo":"no"}"#, "geo"),
            (#"{"projectToken":"t","device":{"shoeSize":"42"}}"#, "device.shoeSize"),
        ]
    )
    func wrongSettings(json: String, key: String) throws {
        do throws(ExperimentationError) {
            var reader = try SettingsReader(json: Array(json.utf8), file: "sigma.json")
            _ = try SigmaConfiguration(reading: &reader)
            Issue.record("expected an error")
        } catch {
            #expect(error.code == .configuration)
            #expect(error.message.contains("sigma.json"))
            #expect(error.message.contains("\"\(key)\""))
        }
    }

    @Test("the adapter works over a socket, as in production")
    func overSockets() async throws {
        let sigma = SigmaMock(
            configuration: String(decoding: try Reference.bytes("config-reference.json"), as: UTF8.self)
        )
        let server = MockServer(sigma)
        try await server.start()
        let configuration = SigmaConfiguration(
            projectToken: Secret(SigmaMock.token),
            endpoint: try Endpoint(server.endpoints["api"] ?? ""),
            retryCount: 1,
            fetchTimeout: .seconds(5),
            device: Reference.device
        )
        sigma.set(SigmaMockBehaviour(failFirst: 1))
        let client = try await ExperimentationClient(provider: SigmaProvider(configuration: configuration))
        let session = client.session(for: User(id: "u-1"))
        try await session.refresh()
        #expect(session.string("button", default: "none") == "red")
        #expect(server.journal.map(\.operation) == ["config", "config"])
        #expect(server.journal.last?.request.header("sdk-version") == "1.8.1")
        sigma.set(SigmaMockBehaviour(dropConnection: true))
        await #expect(throws: ExperimentationError.self) { try await session.refresh(force: true) }
        await client.shutdown()
        await server.stop()
    }

    private static let kazan = """
        {"feature_flags":[{"name":"here","type":"bool","rules":[
          {"is_default":false,"value":"true","conditional_statement":"AND","conditions":[
            {"name":"geo.city","condition_sign":"equal","value":["Kazan"]}]},
          {"is_default":true,"value":"false","conditional_statement":"-","conditions":[]}]}]}
        """

    private static func provider(_ stage: Stage) -> SigmaProvider {
        SigmaProvider(
            configuration: SigmaConfiguration(
                projectToken: Secret(SigmaMock.token),
                endpoint: Endpoint(https: "sigma.example", path: "/api/v1"),
                device: Reference.device
            ),
            transport: stage.transport
        )
    }

    private static func roles(_ stage: Stage) async throws -> ProviderRoles {
        let environment = ClientEnvironment(time: stage.time, jitter: { 0.5 })
        return try await provider(stage).start(in: ProviderContext(environment: environment))
    }

    static func client(
        _ stage: Stage,
        store: ClientStore = .inMemory(),
        log: any LogSink = NoLog()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: provider(stage),
            store: store,
            environment: ClientEnvironment(time: stage.time, jitter: { 0.5 }, log: log)
        )
    }
}
