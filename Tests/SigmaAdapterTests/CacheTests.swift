import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing
import Waiting

@testable import SigmaAdapter

@Suite("The configuration is fetched only when it is needed")
struct CacheTests {
    @Test("S05 a lifetime of zero counts as ten seconds")
    func shortLifetime() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user(), cacheTTL: 0)
        _ = try await client.text("button")
        stage.time.advance(by: .seconds(9))
        _ = try await client.text("button")
        #expect(stage.transport.paths == ["/api/v1/config.json"])
    }

    @Test("S06 an overdue configuration is fetched again, one of exactly its lifetime isn't")
    func overdue() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user(), cacheTTL: 10)
        _ = try await client.text("button")
        stage.time.advance(by: .seconds(10))
        _ = try await client.text("button")
        #expect(stage.transport.requests.count == 1)
        stage.time.advance(by: .seconds(1))
        _ = try await client.text("button")
        #expect(stage.transport.requests.count == 2)
    }

    /// Stores the configuration once a gate opens.
    private struct SlowStore: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let gate = AsyncGate()

        func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
            if key.hasSuffix("/config") { await gate.wait() }
            try await baseState.setValue(value, for: key)
        }
    }

    @Test("a configuration's age counts from its arrival, however long the store takes")
    func slowStore() async throws {
        let (stage, store) = (try Stage(), SlowStore())
        defer { store.gate.open() }
        let client = try stage.client(stage.user(), cacheTTL: 10) { $0.store = store }
        async let first = client.text("button")
        try await eventually("the configuration is being stored") { store.gate.waiting == 1 }
        stage.time.advance(by: .seconds(6))
        store.gate.open()
        _ = try await first
        stage.time.advance(by: .seconds(6))
        _ = try await client.text("button")
        #expect(stage.transport.requests.count == 2)
    }

    @Test("S07 a valid configuration survives a restart")
    func restart() async throws {
        let stage = try Stage()
        _ = try await stage.client(stage.user(), cacheTTL: 60).text("button")
        stage.time.advance(by: .seconds(20))
        #expect(try await stage.client(cacheTTL: 60).text("button") == "red")
        #expect(stage.transport.requests.count == 1)
        stage.time.advance(by: .seconds(41))
        #expect(try await stage.client(cacheTTL: 60).text("button") == "red")
        #expect(stage.transport.requests.count == 2)
    }

    @Test("S08 nothing is fetched in the background")
    func noBackground() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        client.editUserProperties { $0.setEmail("a@example.com") }
        await client.saved()
        stage.time.advance(by: .seconds(300))
        #expect(stage.transport.requests.isEmpty)
        _ = client
    }

    @Test("S09 if every attempt fails, the last failure is thrown")
    func allFail() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(status: 503))
        let client = try stage.client(stage.user(), retryCount: 2)
        let error = await Self.configurationFailure(client)
        guard case .wrongStatusCode(503) = error else { Issue.record("\(String(describing: error))"); return }
        #expect(stage.transport.requests.count == 3)
    }

    @Test("S10 if the last attempt succeeds, its configuration is used")
    func lastSucceeds() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(failFirst: 2))
        let client = try stage.client(stage.user(), retryCount: 2)
        #expect(try await client.text("button") == "red")
        #expect(stage.transport.requests.count == 3)
    }

    @Test("S11 the vendor's own calls retry three times by default, then return nil")
    func attemptsByDefault() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(failFirst: 3))
        var options = stage.options
        options.failures = SigmaClientOptions(store: stage.store).failures
        let client = try SigmaClientRegistry().initializeClient(
            projectToken: SigmaMock.token,
            initialUser: stage.user(),
            options: options
        )
        #expect(try await client.text("button") == "red")
        #expect(stage.transport.requests.count == 4)
        stage.sigma.set(SigmaMockBehaviour(failFirst: 4))
        stage.time.advance(by: .seconds(11))
        #expect(try await client.text("button") == nil)
        #expect(stage.transport.requests.count == 8)
    }

    @Test("S11 the neutral client's default is one attempt, as in SDK 1.8.1")
    func oneAttempt() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(failFirst: 1))
        let provider = SigmaProvider(
            configuration: SigmaConfiguration(projectToken: Secret(SigmaMock.token)),
            transport: stage.transport
        )
        let client = try await ExperimentationClient(provider: provider)
        await #expect(throws: ExperimentationError.self) { try await client.refresh(force: true) }
        #expect(stage.transport.requests.count == 1)
    }

    @Test("S12 a failure isn't cached")
    func failureForgotten() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(failFirst: 1))
        let client = try stage.client(stage.user())
        #expect(await Self.configurationFailure(client) != nil)
        #expect(try await client.text("button") == "red")
        #expect(stage.transport.requests.count == 2)
    }

    @Test("S13 an overdue configuration isn't used: without the vendor there is an error")
    func noStaleValue() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        #expect(try await client.text("button") == "red")
        stage.time.advance(by: .seconds(11))
        stage.transport.setReachable(false)
        let error = await Self.configurationFailure(client)
        guard case .urlError = error else { Issue.record("\(String(describing: error))"); return }
        stage.transport.setReachable(true)
        #expect(try await client.text("button") == "red")
    }

    @Test("S14 an answer without a body is reported as no data")
    func noBody() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(emptyBody: true))
        let error = await Self.configurationFailure(try stage.client(stage.user()))
        guard case .noData = error else { Issue.record("\(String(describing: error))"); return }
    }

    @Test("S15 a truncated body can't be decoded")
    func truncated() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(truncateBody: true))
        let error = await Self.configurationFailure(try stage.client(stage.user()))
        guard case .decodingError = error else { Issue.record("\(String(describing: error))"); return }
    }

    @Test(
        "S16 an invalid address is an error, without a request",
        arguments: ["not a url", "", "http://sigma.example/", "ftp://sigma.example/", "https://"]
    )
    func noAddress(apiURL: String) async throws {
        let stage = try Stage()
        let error = await Self.configurationFailure(try stage.client(stage.user(), apiURL: apiURL))
        guard case .incorrectURL(apiURL) = error else { Issue.record("\(String(describing: error))"); return }
        #expect(stage.transport.requests.isEmpty)
    }

    @Test(
        "S17 the base address may end in a slash or not",
        arguments: ["https://sigma.example/api/v1", "https://sigma.example/api/v1/"]
    )
    func slash(apiURL: String) async throws {
        let stage = try Stage()
        _ = try await stage.client(stage.user(), apiURL: apiURL).text("button")
        #expect(stage.transport.paths == ["/api/v1/config.json"])
        #expect(stage.transport.requests.first?.authority == "sigma.example")
    }

    @Test("S18 a request carries the token, the private id and the SDK's name and version")
    func headers() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        _ = try await client.text("button")
        let request = try #require(stage.transport.requests.first)
        let id = await client.profile.privateID()
        #expect(request.method == .get)
        #expect(
            request.headerFields.map { "\($0.name.rawName): \($0.value)" }.sorted() == [
                "Content-Type: application/json", "sdk-name: ios", "sdk-version: 1.8.1", "token: \(SigmaMock.token)",
                "user-id: \(id)",
            ]
        )
    }

    @Test("N concurrent calls on a cold cache are one request")
    func coalescing() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        stage.transport.hold(true)
        let values = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { try? await client.text("button") } }
            try await stage.transport.waitForRequests(1)
            for _ in 0..<100 { await Task.yield() }
            stage.transport.hold(false)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: "red", count: 20))
        #expect(stage.transport.requests.count == 1)
    }

    @Test("a caller that is cancelled doesn't cancel the request for others")
    func cancelled() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        stage.transport.hold(true)
        let first = Task { try? await client.text("button") }
        try await stage.transport.waitForRequests(1)
        let second = Task { try? await client.text("button") }
        first.cancel()
        stage.transport.hold(false)
        #expect(await second.value == "red")
    }

    @Test("a caller that is cancelled doesn't wait for the answer")
    func cancelledLeaves() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        stage.transport.hold(true)
        let waiting = Task { () -> (any Error)? in
            do { _ = try await client.text("button") } catch { return error }
            return nil
        }
        try await stage.transport.waitForRequests(1)
        waiting.cancel()
        let error = try #require(await waiting.value as? SigmaError)
        guard case .requestConfigFailed(.urlError(let cause)) = error else {
            Issue.record("\(error)")
            return
        }
        #expect((cause as? ExperimentationError)?.code == .cancelled)
        stage.transport.hold(false)
        #expect(try await client.text("button") == "red")
        #expect(stage.transport.requests.count == 1)
    }

    @Test("a clock that was set back makes the configuration invalid")
    func clockSetBack() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user(), cacheTTL: 600)
        _ = try await client.text("button")
        stage.time.setNow(Reference.noon.addingTimeInterval(-60))
        _ = try await client.text("button")
        #expect(stage.transport.requests.count == 2)
    }

    @Test("a dropped connection and a rejected token are distinct errors")
    func otherFailures() async throws {
        let stage = try Stage()
        stage.sigma.set(SigmaMockBehaviour(dropConnection: true))
        guard case .urlError = await Self.configurationFailure(try stage.client(stage.user())) else {
            Issue.record("expected no answer")
            return
        }
        let stranger = try stage.client(stage.user(), token: "stranger")
        guard case .wrongStatusCode(403) = await Self.configurationFailure(stranger) else {
            Issue.record("expected a refusal")
            return
        }
    }

    @Test("an invalid token sends nothing, and no error repeats it")
    func brokenToken() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user(), token: "sec\r\nret: 1")
        let error = await failure { () async throws(SigmaError) in try await client.text("button") }
        #expect(error?.contains("ret") == false)
        #expect(stage.transport.requests.isEmpty)
    }

    @Test("if failures are returned as nil, three calls return nil and the others throw")
    func nilFailures() async throws {
        let stage = try Stage()
        stage.transport.setReachable(false)
        let client = try stage.client(stage.user(), retryCount: 3) { $0.failures = .nil }
        #expect(try await client.text("button") == nil)
        #expect(try await client.getAllUserExperiments() == nil)
        #expect(try await client.getExperiment(name: "button_test") == nil)
        #expect(stage.transport.requests.count == 12)
        #expect(await failure { () async throws(SigmaError) in try await client.getHoldout(name: "hold_q1") } != nil)
        stage.transport.setReachable(true)
        #expect(await failure { () async throws(SigmaError) in try await client.text("nosuch") } != nil)
    }

    @Test("settings with which no request can be sent are logged once, without repeating them")
    func unusableSettings() async throws {
        let (stage, log) = (try Stage(), RecordingLog())
        for (apiURL, token) in [
            ("https://me:secret@sigma.example/", SigmaMock.token), ("https://sigma.example/", "\n"),
        ] {
            let client = try stage.client(stage.user(), apiURL: apiURL, token: token) {
                $0.failures = .nil
                $0.environment.log = log
            }
            for _ in 0..<3 { #expect(try await client.text("button") == nil) }
        }
        let warning = "Sigma warn: the configuration is unavailable: "
        #expect(
            log.entries == [
                LogEntry(.warning, "sigma.fetch", warning + "the base address isn't valid"),
                LogEntry(.warning, "sigma.fetch", warning + "the project token can't be sent"),
            ]
        )
    }

    @Test("each outage is logged with one warning")
    func outages() async throws {
        let (stage, log) = (try Stage(), RecordingLog(level: .warning))
        let client = try stage.client(stage.user()) {
            $0.failures = .nil
            $0.environment.log = log
        }
        for outage in 1...2 {
            stage.transport.setReachable(false)
            for _ in 0..<3 { #expect(try await client.text("button") == nil) }
            #expect(log.entries.map(\.event) == Array(repeating: "sigma.fetch", count: outage))
            stage.transport.setReachable(true)
            #expect(try await client.text("button") == "red")
            stage.time.advance(by: .seconds(11))
        }
    }

    @Test("S19 the location isn't requested if the configuration doesn't use it")
    func noPlace() async throws {
        let stage = try Stage()
        _ = try await stage.client(stage.user()).text("button")
        #expect(!stage.transport.paths.contains("/api/v1/geo"))
    }

    @Test("S20 the location is requested once, and used")
    func place() async throws {
        let stage = Stage(configuration: Self.kazan)
        let client = try stage.client(stage.user())
        #expect(try await client.text("here") == "true")
        #expect(try await client.text("here") == "true")
        #expect(stage.transport.paths == ["/api/v1/config.json", "/api/v1/geo"])
        #expect(try await stage.client().text("here") == "true")
        #expect(stage.transport.requests.count == 2)
        stage.time.advance(by: .seconds(11))
        stage.sigma.servePlace(#"{"city":"Omsk"}"#)
        #expect(try await client.text("here") == "false")
        #expect(stage.transport.requests.count == 4)
    }

    @Test("S21 the user's own location takes precedence")
    func placeOverridden() async throws {
        let stage = Stage(configuration: Self.kazan)
        let client = try stage.client(stage.user { $0.setGeoCity("Omsk") })
        #expect(try await client.text("here") == "false")
        client.editUserProperties { $0.setGeoCity(nil) }
        #expect(try await client.text("here") == "true")
    }

    @Test("without the location a call fails, but the configuration stays")
    func placeFails() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.sigma.servePlace("not JSON")
        let client = try stage.client(stage.user())
        do throws(SigmaError) {
            _ = try await client.text("here")
            Issue.record("expected an error")
        } catch {
            guard case .requestLocationFailed(.decodingError) = error else { Issue.record("\(error)"); return }
        }
        stage.sigma.servePlace(#"{"city":"Kazan"}"#)
        #expect(try await client.text("here") == "true")
        #expect(stage.transport.paths == ["/api/v1/config.json", "/api/v1/geo", "/api/v1/geo"])
    }

    @Test("a part of the location that isn't a string is dropped, and the others count")
    func brokenPlace() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.sigma.servePlace(#"{"code":null,"state":7,"ip":["a"],"city":"Kazan"}"#)
        let client = try stage.client(stage.user())
        #expect(try await client.text("here") == "true")
    }

    @Test("a client can be configured to continue without the location")
    func placeNotNeeded() async throws {
        let stage = Stage(configuration: Self.kazan)
        stage.sigma.servePlace("")
        let client = try stage.client(stage.user()) { $0.failsWithoutPlace = false }
        #expect(try await client.text("here") == "false")
        #expect(try await client.text("here") == "false")
        #expect(stage.transport.requests.count == 2)
    }

    @Test("S22 an experiment without a salt is dropped, the others work")
    func brokenExperiment() async throws {
        let stage = try Stage("config-broken-elements.json")
        let client = try stage.client(stage.user())
        #expect(try await client.getAllUserExperiments() == "survivor.0")
        #expect(
            await failure { () async throws(SigmaError) in try await client.getExperiment(name: "no_salt") }
                == "\(SigmaError.experimentNotFound(experiment: "no_salt"))"
        )
    }

    @Test("S23 a rule with an unknown operator is dropped, the default rule remains")
    func brokenRule() async throws {
        let stage = try Stage("config-broken-elements.json")
        let client = try stage.client(stage.user { $0.setCustomProperty("pro", key: "plan") })
        #expect(try await client.text("good") == "well")
    }

    @Test("S24 an experiment whose audience has an unknown operator is dropped")
    func brokenAudience() async throws {
        let stage = try Stage("config-broken-elements.json")
        let client = try stage.client(stage.user())
        #expect(
            await failure { () async throws(SigmaError) in try await client.getExperiment(name: "odd_target") }
                == "\(SigmaError.experimentNotFound(experiment: "odd_target"))"
        )
    }

    private static let kazan = """
        {"feature_flags":[{"name":"here","type":"bool","rules":[
          {"is_default":false,"value":"true","conditional_statement":"AND","conditions":[
            {"name":"geo.city","condition_sign":"equal","value":["Kazan"]}]},
          {"is_default":true,"value":"false","conditional_statement":"-","conditions":[]}]}]}
        """

    private static func configurationFailure(_ client: SigmaClient) async -> SigmaNetworkError? {
        do throws(SigmaError) {
            _ = try await client.text("button")
            return nil
        } catch {
            if case .requestConfigFailed(let cause) = error { return cause }
            Issue.record("\(error)")
            return nil
        }
    }
}
