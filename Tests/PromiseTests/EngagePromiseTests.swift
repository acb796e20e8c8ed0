import AdapterKit
import EngageAdapter
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing
import Waiting

/// A token authority that follows OAuth's best practice: each refresh token is valid once, and reusing one revokes them
/// all.
private final class TokenAuthority: Sendable {
    struct State {
        var refresh = "token-0"
        var access = 0
        var requests = 0
        var reuses = 0
        var refuses = false
    }
    let state = Mutex(State())

    func answer(_ exchange: ScriptedTransport.Exchange) -> ScriptedTransport.Answer {
        state.withLock { state in
            state.requests += 1
            if state.refuses { return .json(#"{"error":"invalid_grant"}"#, status: 400) }
            guard
                exchange.text.contains("refresh_token=\(state.refresh)&")
                    || exchange.text.hasSuffix("refresh_token=\(state.refresh)")
            else {
                state.reuses += 1
                return .json(#"{"error":"invalid_grant"}"#, status: 400)
            }
            state.access += 1
            state.refresh = "token-\(state.access)"
            return .json(
                #"{"access_token":"at-\#(state.access)","token_type":"bearer","expires_in":14400,"refresh_token":"\#(state.refresh)"}"#
            )
        }
    }

    var isCurrent: @Sendable (ScriptedTransport.Exchange) -> Bool {
        { exchange in
            exchange.request.headerFields[.authorization] == "Bearer at-\(self.state.withLock { $0.access })"
        }
    }
}

/// A store that reveals what it holds.
private final class WatchedState: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    let written = Mutex<[[UInt8]]>([])

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await baseState.setValue(value, for: key)
        if let value { written.withLock { $0.append(value) } }
    }

    func holds(_ text: String) -> Bool {
        // The latest first: it is nearly always the one.
        written.withLock { $0.reversed().contains { String(decoding: $0, as: UTF8.self).contains(text) } }
    }
}

@Suite("Engage's token and its limits are shared", .timeLimit(.minutes(10)))
struct EngagePromiseTests {
    private let authority = TokenAuthority()
    private let kept = WatchedState()

    private func provider(_ transport: SwitchedTransport, concurrency: Int = 8) -> EngageProvider {
        var configuration = EngageConfiguration(
            endpoint: Endpoint(https: "example.com"),
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "token-0"),
            listID: "1"
        )
        configuration.networking.concurrency = concurrency
        return EngageProvider(configuration: configuration, transport: transport)
    }

    /// The roles of a provider that is started without a client.
    private func roles(_ transport: SwitchedTransport, concurrency: Int = 8) async throws -> ProviderRoles {
        let context = ProviderContext(environment: .still(), state: kept)
        return try await provider(transport, concurrency: concurrency).start(in: context)
    }

    private func deliver(_ count: Int, _ roles: ProviderRoles) async {
        guard let sink = roles.events else { return }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let envelope = Envelope(
                        id: "e\(number)",
                        identity: Identity(id: "u\(number)"),
                        event: .custom("seen"),
                        date: Date(timeIntervalSince1970: 1_795_255_200)
                    )
                    _ = await sink.deliver([envelope])
                }
            }
        }
    }

    @Test("P33 500 callers share one token, and after a rejection one more; each refresh token is stored before use")
    func oneRefresh() async throws {
        let authority = authority
        let kept = kept
        let unkept = Mutex(0)
        let transport = SwitchedTransport { exchange in
            if exchange.path.contains("oauth") {
                // Enough for all of them to arrive.
                for _ in 0..<50 { await Task.yield() }
                return authority.answer(exchange)
            }
            guard authority.isCurrent(exchange) else { return .status(401) }
            let refresh = authority.state.withLock { $0.refresh }
            if !kept.holds(refresh) { unkept.withLock { $0 += 1 } }
            return .json("{}")
        }
        let roles = try await roles(transport)
        await deliver(500, roles)
        #expect(authority.state.withLock { $0.requests } == 1)
        // Invalidates all tokens.
        authority.state.withLock { $0.access += 1 }
        authority.state.withLock { $0.refresh = "token-1" }
        await deliver(500, roles)
        #expect(authority.state.withLock { $0.requests } == 2)
        #expect(authority.state.withLock { $0.reuses } == 0)
        #expect(unkept.withLock { $0 } == 0)
    }

    @Test("P33 a rejected refresh token causes one request; then deliveries stop, report it and keep everything")
    func refused() async throws {
        let authority = authority
        authority.state.withLock { $0.refuses = true }
        let transport = SwitchedTransport { exchange in
            exchange.path.contains("oauth") ? authority.answer(exchange) : .json("{}")
        }
        let client = try await ExperimentationClient(provider: provider(transport), environment: .still())
        for number in 0..<20 {
            try await client.session(for: User(id: "u\(number)", consent: .granted)).track(.custom("seen"))
        }
        for _ in 0..<5 { try await client.flush() }
        #expect(authority.state.withLock { $0.requests } == 1)
        #expect(client.status == .error)
        #expect(try await client.ledger() == Ledger(accepted: 20, pending: 20))
        #expect(try await client.outboxStatus().failures.keys.contains { $0.contains("UNAUTHORIZED") })
        await client.shutdown()
    }

    @Test("P68 of 500 concurrent calls no more reach the vendor than configured", arguments: [1, 3, 8])
    func concurrency(limit: Int) async throws {
        let authority = authority
        let transport = SwitchedTransport { exchange in
            if exchange.path.contains("oauth") { return authority.answer(exchange) }
            for _ in 0..<5 { await Task.yield() }
            return .json("{}")
        }
        let engage = try #require(try await roles(transport, concurrency: limit).extras as? Engage)
        // Calls made before there is a token go one by one, so a first call fetches the token.
        _ = try? await engage.xmlapi.send(.selectRecipient(id: "first", list: "1"))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask { _ = try? await engage.xmlapi.send(.selectRecipient(id: "\(number)", list: "1")) }
            }
        }
        #expect(transport.requests.count >= 501)
        #expect(transport.most <= limit)
        #expect(limit == 1 || transport.most > 1)
    }

    @Test("P67 no external pattern can hang the process")
    func patterns() throws {
        let evil = [
            "(a+)+$", "^(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b",
            "((a{1,10}){1,10}){1,10}$", "(x+x+)+y", "([a-zA-Z]+)*\\d", "(?:a?){30}a{30}", "^(a|a?)+$",
        ]
        var slowest = Duration.zero
        for pattern in evil {
            let file: FlagValue = [
                "routes": ["r/:p": ["handlers": ["h"], "routeParameters": ["p": ["regex": .string(pattern)]]]]
            ]
            guard let routes = try? DeepLinkRoutes(json: JSON.encode(file), file: "links.json") else { continue }
            for text in [
                String(repeating: "a", count: 60) + "!", String(repeating: "x", count: 60),
                "aB" + String(repeating: "b", count: 58),
            ] {
                let link = DeepLink("App://r/\(text)")
                let took = ContinuousClock().measure { _ = routes.match(link) }
                slowest = max(slowest, took)
            }
        }
        print("P67: slowest \(slowest)")
        // Next to other tests, a thread may lose its core for a while; catastrophic backtracking would take hours.
        if isSoak { #expect(slowest <= .milliseconds(10)) }
    }
}
