import Experimentation
import ExperimentationTesting
import FlagManifest
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("Streams and operation")
struct StreamTests {
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    private static func stream(_ answer: WireAnswer) throws -> String {
        let start = try #require(answer.body.firstRange(of: #""requestUri":""#))
        return String(answer.body[start.upperBound...].prefix { $0 != "\"" })
    }

    @Test("a client that listens with the ticket from a bulk answer is notified when the rules change")
    func change() async throws {
        try await Served.run { served in
            let path = try Self.stream(try await served.wire.post("/ofrep/v1/evaluate/flags", Self.ada))
            let text = try await served.wire.talk("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") { text in
                if text.contains("says when to ask again"), !text.contains("data:") {
                    served.provider.replace(flags: [InMemoryFlag("text", "red")])
                    try await served.client.refresh(force: true)
                }
                return text.contains("data:")
            }
            #expect(
                text.contains("content-type: text/event-stream") || text.contains("Content-Type: text/event-stream")
            )
            #expect(text.contains("event: message\ndata: {\"type\":\"refetchEvaluation\"}\n\n"))
        }
    }

    @Test("an event says that flags have changed, and of which revision the rules are where instances share them")
    func events() throws {
        let streams = ChangeStreams()
        let told = Shared<[Int]>([])
        let place = try #require(
            streams.listen(ChangeStreams.Listener(tell: { count in told.change { $0.append(count) } }, end: {}))
        )
        streams.announceChange()
        streams.announceChange()
        streams.beat()
        #expect(told.value == [1, 2, 2])
        streams.leave(place.id)
        streams.beat()
        #expect(told.value.count == 3)
        // A slow client misses none: the latest number covers all before it.
        #expect(streams.text(2, after: 0) == "id: 2\nevent: message\ndata: {\"type\":\"refetchEvaluation\"}\n\n")
        #expect(!streams.text(2, after: 2).contains("data"))
        #expect(!streams.text(2, after: nil).contains("data"))
        streams.announce { 7 }
        #expect(streams.text(3, after: 2).contains(#"data: {"type":"refetchEvaluation","etag":"\"rules.7\""}"#))
        #expect(Target("/x?flagConfigEtag=%22rules.7%22").announced == 7)
    }

    @Test("a client that listens over a busy connection is told to use another one")
    func busy() async throws {
        try await Served.run { served in
            let path = try Self.stream(try await served.wire.post("/ofrep/v1/evaluate/flags", Self.ada))
            let first = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
            let text = try await served.wire.talk(first + "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") {
                $0.contains(" 503 ") || $0.contains("says when to ask again")
            }
            #expect(text.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("the number of listeners is limited, and a place becomes free when a client leaves")
    func places() async throws {
        try await Served.run {
            $0.tenants[0].streams = 2
        } body: { served in
            let path = try Self.stream(try await served.wire.post("/ofrep/v1/evaluate/flags", Self.ada))
            let request = "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n"
            let changes = served.gateway.responder.tenants.tenants[0].connection.changes
            try await served.wire.hold(request, times: 2) {
                try await eventually("both listen") { changes.count == 2 }
                let refused = try await served.wire.request("GET", path)
                #expect(refused.status == 429)
                #expect(refused.fields["retry-after"] == "30")
                // A client that asks for flags isn't a listener.
                let status = try await served.wire.post("/ofrep/v1/evaluate/flags", Self.ada).status
                #expect(status == 200)
            }
            try await eventually("both have left") { changes.count == 0 }
            let text = try await served.wire.talk(request) { $0.contains("says when to ask again") }
            #expect(text.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("a stream opens only with a ticket or a token")
    func closed() async throws {
        let statuses = try await Served.run { served in
            [
                try await served.wire.request("GET", "/ofrep/v1/stream").status,
                try await served.wire.request("GET", "/ofrep/v1/stream?ticket=x").status,
                try await served.wire.request("GET", "/ofrep/v1/stream?ticket=t0ken").status,
            ]
        }
        #expect(statuses == [401, 401, 401])
    }

    @Test("shutting down ends streams and idle connections and lets requests in progress finish")
    func shutdown() async throws {
        try await Served.run { served in
            let path = try Self.stream(try await served.wire.post("/ofrep/v1/evaluate/flags", Self.ada))
            let text = try await served.wire.talk("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") { text in
                guard text.contains("says when to ask again") else { return false }
                await served.shutDown()
                return false
            }
            #expect(text.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test("metrics and the console's data need an operator's token; the page contains no data")
    func operation() async throws {
        try await Served.run { served in
            _ = try await served.wire.post("/ofrep/v1/evaluate/flags/text", Self.ada)
            let open = try await served.wire.request("GET", "/metrics", ["Authorization": "Bearer t0ken"])
            #expect(open.status == 401)
            let metrics = try await served.wire.request("GET", "/metrics", ["Authorization": "Bearer 0perator"])
            #expect(metrics.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let lines = metrics.body.split(separator: "\n")
            #expect(lines.contains(#"xp_gateway_requests_total{tenant="shop",route="evaluate",status="200"} 1"#))
            #expect(lines.contains(#"xp_gateway_request_seconds_count{route="evaluate"} 1"#))
            #expect(lines.contains("xp_gateway_ready 1"))
            let state = try await served.wire.request("GET", "/console/state", ["Authorization": "Bearer 0perator"])
            #expect(state.status == 200)
            #expect(state.body.contains(#""name":"shop""#))
            #expect(state.body.contains(#""rules":[{"seconds":"#), "\(state.body)")
            #expect(lines.contains { $0.hasPrefix(#"xp_gateway_rules_age_seconds{tenant="shop",side=""} "#) })
            let page = try await served.wire.request("GET", "/console")
            #expect(page.status == 200)
            #expect(page.body.contains("<title>Gateway</title>"))
            #expect(!page.body.contains("http://") && !page.body.contains("https://"))
        }
    }

    @Test("after a reload tenants keep their connections, and removed tokens are refused")
    func reload() async throws {
        try await Served.run { served in
            let client = served.client
            var tenant = Served.tenant()
            tenant.tokens = [TokenDigest(of: "new")]
            try await served.gateway.reload([tenant])
            #expect(served.client === client)
            let path = "/ofrep/v1/evaluate/flags/text"
            #expect(try await served.wire.post(path, Self.ada).status == 401)
            #expect(try await served.wire.post(path, Self.ada, token: "new").status == 200)
            try await served.gateway.reload([Served.tenant("other", token: "0ther")])
            #expect(try await served.wire.post(path, Self.ada, token: "new").status == 401)
            #expect(try await served.wire.post(path, Self.ada, token: "0ther").status == 200)
        }
    }

    @Test("listeners are notified of a reload that may change their answers, and of no other")
    func reloadedAnswers() async throws {
        try await Served.run { served in
            var changes: Int { served.gateway.responder.tenants.tenants[0].connection.changes.changes }
            func isTold(of change: (inout TenantConfiguration) -> Void) async throws -> Bool {
                let before = changes
                var tenant = served.gateway.responder.tenants.tenants[0].configuration
                change(&tenant)
                try await served.gateway.reload([tenant])
                return changes > before
            }
            let told = [
                try await isTold { $0.types = ["whole": .float] }, try await isTold { $0.assignments = .computed },
                try await isTold { $0.consent = .granted },
                // The stream has another address from then on.
                try await isTold { $0.tokens.insert(TokenDigest(of: "new"), at: 0) },
            ]
            #expect(told == [true, true, true, true])
            let untold = [
                try await isTold { $0.tokens.append(TokenDigest(of: "more")) },
                try await isTold { ($0.streams, $0.exposures) = (7, .none) },
            ]
            #expect(untold == [false, false])
        }
    }

    @Test(
        "a reload that removes a token ends the tenant's streams, and no other reload does",
        arguments: [(["t0ken"], 0), (["t0ken", "more"], 0), (["more", "t0ken"], 0), (["more"], 1)]
    )
    func removedTokens(tokens: [String], ended: Int) async throws {
        try await Served.run { served in
            let tenant = served.gateway.responder.tenants.tenants[0]
            let ends = Shared(0)
            let listener = ChangeStreams.Listener(tell: { _ in }, end: { ends.change { $0 += 1 } })
            let place = try #require(tenant.connection.changes.listen(listener))
            var configuration = tenant.configuration
            configuration.tokens = tokens.map { TokenDigest(of: $0) }
            try await served.gateway.reload([configuration])
            #expect(ends.value == ended)
            tenant.connection.changes.leave(place.id)
        }
    }

    @Test(
        "the first rules are announced to listeners that had none, and a vendor's recovery isn't",
        arguments: [(true, 1), (false, 0)]
    )
    func firstRules(lacksRules: Bool, announced: Int) async {
        let (events, continuation) = AsyncStream.makeStream(of: ProviderEvent.self)
        for status in [ProviderStatus.error, .ready, .error, .stale] {
            continuation.yield(ProviderEvent(status == .error ? .error : .ready, status: status))
        }
        continuation.finish()
        let streams = ChangeStreams()
        await streams.announce(events, lacksRules: lacksRules)
        #expect(streams.changes == announced)
    }

    @Test("requests in progress over a replaced connection are completed, and the connection is closed a while later")
    func replaced() async throws {
        let (time, provider) = (ManualTime(), Served.publisher())
        try await Served.run(over: provider, provider, time: time) { served in
            let old = served.gateway.responder.tenants.tenants[0].connection
            var tenant = Served.tenant()
            tenant.decisionBytes /= 2
            try await served.gateway.reload([tenant])
            #expect(served.gateway.responder.tenants.tenants[0].connection !== old)
            func track() async throws { try await old.client.track(.installed, for: User(id: "u", consent: .granted)) }
            try await track()
            await time.waitForSleepers(1)
            try await eventually("the old connection is closed", within: .seconds(20)) {
                time.advance(by: .seconds(1))
                do { try await track() } catch { return true }
                return false
            }
        }
    }

    @Test("a replaced connection is closed with the gateway, even if its time isn't over")
    func replacedAtTheEnd() async throws {
        let (time, provider) = (ManualTime(), Served.publisher())
        let old = try await Served.run(over: provider, provider, time: time) { served in
            let old = served.gateway.responder.tenants.tenants[0].connection
            var tenant = Served.tenant()
            tenant.decisionBytes /= 2
            try await served.gateway.reload([tenant])
            return old
        }
        await #expect(throws: ExperimentationError.self) { try await old.client.track(.installed, for: User(id: "u")) }
    }
}
