import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

@Suite("One token serves both interfaces")
struct AuthorizationTests {
    let bench = EngageWorkbench()

    private func select(_ engage: Engage, _ id: String) async throws -> XMLAPIResult {
        try await engage.xmlapi.send(.selectRecipient(id: id, list: "23949"))
    }

    @Test("E01 the first use requests one token with the form's four fields")
    func oneRequest() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        _ = try await engage.mobileIdentity.setupRecipient()
        try await client.session(for: User(id: "u")).track(.custom("seen"))
        try await client.flush()
        let tokens = bench.exchanges("token")
        #expect(tokens.count == 1)
        let request = try #require(tokens.first?.request)
        let fields = Dictionary(uniqueKeysWithValues: FormEncoding.decode(request.text).map { ($0.name, $0.value) })
        #expect(
            fields == [
                "grant_type": "refresh_token", "client_id": "client", "client_secret": "secret",
                "refresh_token": "refresh",
            ]
        )
        #expect(request.header("Accept") == "application/json")
        #expect(request.header("Authorization") == nil)
        #expect(try await bench.behaviors().count == 1)
    }

    @Test("E02 the token's URL is the same with and without a slash after the host", arguments: ["", "/"])
    func address(end: String) async throws {
        let endpoint = try Endpoint("https://api2.example.test" + end)
        let engage = bench.engage { $0.endpoint = endpoint }
        _ = try await select(engage, "1")
        #expect(bench.exchanges.map(\.request.path) == ["/oauth/token", "/XMLAPI"])
    }

    @Test("E03 an expired token is replaced before a batch is posted")
    func expired() async throws {
        await bench.settings(#"{"tokenLifetime":2}"#)
        let engage = bench.engage()
        let client = try await bench.client(engage)
        _ = try await engage.mobileIdentity.setupRecipient()
        bench.time.advance(by: .seconds(3))
        try await client.session(for: User(id: "u")).track(.custom("seen"))
        #expect(try await client.flush().isDone)
        #expect(bench.operations == ["token", "AddRecipient", "token", "events"])
    }

    @Test("a token is renewed after three quarters of its lifetime, not before")
    func renewal() async throws {
        await bench.settings(#"{"tokenLifetime":1000,"reissueWindow":0}"#)
        let engage = bench.engage()
        _ = try await select(engage, "1")
        bench.time.advance(by: .seconds(749))
        _ = try await select(engage, "1")
        #expect(bench.exchanges("token").count == 1)
        bench.time.advance(by: .seconds(1))
        _ = try await select(engage, "1")
        #expect(bench.exchanges("token").count == 2)
    }

    @Test("a token that is due but valid is used while there is no new one")
    func renewalFails() async throws {
        await bench.settings(#"{"tokenLifetime":1000}"#)
        let engage = bench.engage()
        _ = try await select(engage, "1")
        bench.time.advance(by: .seconds(800))
        bench.plan(.status(500), on: "token")
        #expect(try await select(engage, "1").errorCode == .recipientNotListMember)
    }

    @Test(
        "a token that expires at once is used, and requested once a second at most",
        arguments: [0, 0.01]
    )
    func noLife(seconds: Double) async throws {
        let engage = bench.engage()
        let grant = #"{"access_token":"at","token_type":"bearer","refresh_token":"refresh","expires_in":\#(seconds)}"#
        bench.plan(.status(200, body: grant, type: "application/json"), on: "token", times: 3)
        let answer = "<Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS></RESULT></Body></Envelope>"
        bench.plan(.status(200, body: answer, type: "text/xml"), on: "SelectRecipientData", times: 6)
        for _ in 0..<5 { #expect(try await select(engage, "1").isSuccess) }
        #expect(bench.exchanges("token").count == 1)
        bench.time.advance(by: .seconds(1))
        #expect(try await select(engage, "1").isSuccess)
        #expect(bench.exchanges("token").count == 2)
    }

    @Test("E04 a 401 renews the token and repeats the request once")
    func refused() async throws {
        let engage = bench.engage()
        _ = try await select(engage, "1")
        await bench.control("POST", "/expire-tokens")
        let result = try await select(engage, "1")
        #expect(result.errorCode == .recipientNotListMember)
        #expect(
            bench.operations
                == ["token", "SelectRecipientData", "SelectRecipientData", "token", "SelectRecipientData"]
        )
    }

    @Test("the legacy fault 145 renews the token as a 401 does")
    func refusedByFault() async throws {
        let engage = bench.engage()
        await bench.fault(145, on: "SelectRecipientData")
        #expect(try await select(engage, "1").errorCode == .recipientNotListMember)
        #expect(bench.operations == ["token", "SelectRecipientData", "token", "SelectRecipientData"])
    }

    @Test("E05 two rejections in a row are an authentication error, without a third attempt")
    func refusedTwice() async throws {
        let engage = bench.engage()
        bench.plan(.status(401), on: "SelectRecipientData", times: 2)
        let error = await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
        #expect(error?.code == .unauthorized)
        #expect(bench.exchanges("SelectRecipientData").count == 2)
    }

    @Test("E06 ten calls made before there is a token go out once each, in order; E07 and not again with a later token")
    func backlog() async throws {
        let engage = bench.engage { $0.networking.patience = .seconds(600) }
        bench.plan(.status(503), on: "token")
        let calls = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...10 {
                    group.addTask { _ = try await select(engage, String(number)) }
                    // The next call is made once this one is queued, because the order is under test.
                    if number < 10 {
                        try await eventually("call \(number) in line") { engage.waitingCalls >= number - 1 }
                    }
                    if number == 1 { await bench.time.waitForSleepers(1) }
                }
                try await group.waitForAll()
            }
        }
        try await eventually("ten calls in line") { engage.waitingCalls >= 9 }
        #expect(bench.operations == ["token"])
        bench.time.advance(by: .seconds(2))
        try await calls.value
        func asked() -> [String] {
            bench.exchanges("SelectRecipientData").map {
                String($0.envelope.split(separator: "RECIPIENT_ID>")[1].dropLast(2))
            }
        }
        #expect(asked() == (1...10).map(\.description))

        await bench.control("POST", "/expire-tokens")
        bench.forgetExchanges()
        _ = try await select(engage, "11")
        #expect(asked() == ["11", "11"])
    }

    @Test("waiting calls share one request for a token")
    func singleFlight() async throws {
        let engage = bench.engage()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...50 { group.addTask { _ = try await select(engage, String(number)) } }
            try await group.waitForAll()
        }
        #expect(bench.exchanges("token").count == 1)
        #expect(bench.exchanges("SelectRecipientData").count == 50)
    }

    @Test("E08 while the token endpoint fails, attempts back off and events are kept")
    func tokenOutage() async throws {
        let engage = bench.engage { $0.networking.patience = .zero }
        let client = try await bench.client(engage)
        bench.plan(.status(500), on: "token", times: 5)
        try await client.session(for: User(id: "u")).track(.custom("seen"))
        try await client.flush(retrying: false)
        for (attempt, wait) in [1, 2, 4, 8].enumerated() {
            // No caller requests a token before the wait is over.
            for rest in [Duration.seconds(wait), .milliseconds(1)] {
                await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
                try await client.flush(retrying: false)
                #expect(bench.exchanges("token").count == attempt + 1, "\(rest) before \(wait) seconds were over")
                bench.time.advance(by: rest == .milliseconds(1) ? rest : rest - .milliseconds(1))
            }
            await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
            #expect(bench.exchanges("token").count == attempt + 2)
            #expect(try await client.ledger().pending == 1)
        }
        bench.time.advance(by: .seconds(60))
        try await client.flush()
        #expect(try await client.ledger() == Ledger(accepted: 1, delivered: 1))
    }

    @Test(
        "E09 an error in a 200 answer from the token endpoint is a failure",
        arguments: [
            #"{"error":"invalid_grant"}"#, #"{"error":null}"#, "{}", "[]", "", "<html>", #"{"access_token":""}"#,
            #"{"access_token":"a\r\nb","expires_in":1}"#, #"{"access_token":"a","expires_in":-1}"#,
        ]
    )
    func tokenNonsense(body: String) async throws {
        let engage = bench.engage { $0.networking.patience = .zero }
        bench.plan(.status(200, body: body, type: "application/json"), on: "token")
        let error = await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
        #expect(error?.code == (body.contains("invalid_grant") ? .unauthorized : .transport))
        #expect(bench.exchanges("SelectRecipientData").isEmpty)
    }

    @Test("E10 the same token, issued again within the reissue window, remains usable")
    func reissued() async throws {
        await bench.settings(#"{"reissueWindow":12000}"#)
        let engage = bench.engage()
        _ = try await select(engage, "1")
        bench.time.advance(by: .seconds(10_799))
        _ = try await select(engage, "1")
        bench.time.advance(by: .seconds(10))
        _ = try await select(engage, "1")
        let tokens = bench.exchanges("token").compactMap {
            $0.response.map { String(decoding: $0.body, as: UTF8.self) }
        }
        #expect(tokens.count == 2)
        #expect(tokens.allSatisfy { $0.contains("at-0001") })
    }

    @Test("rejected credentials are an error at once, and stop deliveries without loss")
    func wrongCredentials() async throws {
        let engage = bench.engage { $0.credentials.clientSecret = "wrong" }
        let error = await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
        #expect(error?.code == .unauthorized)
        #expect(error?.message.contains("wrong") == false)
        let client = try await bench.client(engage)
        try await client.session(for: User(id: "u")).track(.custom("seen"))
        try await client.flush()
        #expect(try await client.ledger().pending == 1)
        #expect(client.status == .error)
    }

    @Test("without a wait between attempts, a refusal is still the end", .timeLimit(.minutes(1)))
    func refusedWithoutBackoff() async throws {
        let engage = bench.engage {
            $0.credentials.clientSecret = "wrong"
            $0.networking.firstBackoff = .zero
        }
        let error = await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
        #expect(error?.code == .unauthorized)
        #expect(bench.exchanges("token").count == 1)
    }

    @Test("without a wait between attempts, a call that may not wait makes one", .timeLimit(.minutes(1)))
    func outageWithoutBackoff() async throws {
        let engage = bench.engage {
            $0.networking.patience = .zero
            $0.networking.longestBackoff = .zero
        }
        bench.plan(.status(500), on: "token", times: 5)
        let error = await #expect(throws: ExperimentationError.self) { try await select(engage, "1") }
        #expect(error?.code == .transport)
        #expect(bench.exchanges("token").count == 1)
    }

    @Test(
        "a rotated refresh token is used from then on, and by the next run, even if the profile is cleared",
        arguments: [false, true]
    )
    func rotation(isCleared: Bool) async throws {
        await bench.settings(#"{"rotatesRefreshTokens":true,"tokenLifetime":100,"reissueWindow":0}"#)
        var engage = bench.engage()
        try await engage.begin()
        _ = try await select(engage, "1")
        bench.time.advance(by: .seconds(200))
        _ = try await select(engage, "1")
        if isCleared { try await engage.profile.clear() }
        engage = bench.engage()
        try await engage.begin()
        _ = try await select(engage, "1")
        let sent = bench.exchanges("token").map {
            FormEncoding.decode($0.request.text).first { $0.name == "refresh_token" }?.value
        }
        #expect(sent == ["refresh", "refresh-1", "refresh-2"])
    }

    @Test("a token isn't used before the refresh token that came with it is stored")
    func rotationIsStored() async throws {
        await bench.settings(#"{"rotatesRefreshTokens":true}"#)
        let store = GatedStateStore()
        let engage = Engage(
            EngageWorkbench.configuration(),
            transport: bench.transport,
            in: ProviderContext(environment: bench.environment, state: store)
        )
        let first = Task { try await select(engage, "1") }
        try await eventually("the refresh token on its way to the store") { store.gate.waiting == 1 }
        let second = Task {
            try await engage.xmlapi.connection.tokens.token(until: bench.time.instant)
        }
        // A caller that has a token would return it nevertheless.
        second.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await second.value }
        #expect(error?.code == .cancelled)
        store.gate.open()
        #expect(try await first.value.errorCode == .recipientNotListMember)
        #expect(bench.operations == ["token", "SelectRecipientData"])
    }

    @Test("a denial doesn't wait for a token, and the request for it serves the next caller")
    func denial() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "u"))
        try await session.track(.custom("seen"))
        bench.hold("token")
        defer { bench.letGo() }
        let flush = Task { try await client.flush(retrying: false) }
        try await bench.isHolding()
        let isDenied = Mutex(false)
        let denial = Task {
            try await session.setConsent(.denied)
            isDenied.withLock { $0 = true }
        }
        try await eventually("the denial") { isDenied.withLock { $0 } }
        try await denial.value
        _ = try await flush.value
        let call = Task { try await select(engage, "1") }
        bench.letGo()
        #expect(try await call.value.errorCode == .recipientNotListMember)
        #expect(bench.operations == ["token", "SelectRecipientData"])
    }

    @Test("a rate limit on tokens with a wait is respected")
    func retryAfter() async throws {
        let engage = bench.engage { $0.networking.patience = .seconds(600) }
        bench.plan(.status(429, retryAfter: "40"), on: "token")
        let call = Task { try await select(engage, "1") }
        await bench.time.waitForSleepers(1)
        #expect(bench.time.untilNextWake == .seconds(40))
        bench.time.advance(by: .seconds(40))
        #expect(try await call.value.errorCode == .recipientNotListMember)
    }
}
