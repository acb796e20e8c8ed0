import Experimentation
import Testing

@testable import GatewayServer

@Suite("Connections and access")
struct ConnectionTests {
    private static let path = "/ofrep/v1/evaluate/flags/text"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    @Test(
        "a request that breaks the protocol is refused, and the connection is closed",
        arguments: [
            ("GET /health HTTP/1.1\r\n\r\n", 400), ("GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET /health HTTP/1.0\r\n\r\n", 200),
            ("GET /health HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", 200),
            ("GET /health HTTP/1.1\r\nHost: a\r\nConnection: TE, close\r\n\r\n", 200),
            ("GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("nonsense\r\n\r\n", 400),
            ("POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
            ("GET /health HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 400),
        ]
    )
    func rules(request: String, status: Int) async throws {
        // If the server didn't close the connection, this would wait forever.
        let answer = try await Served.run { WireAnswer(try await $0.wire.talk(request)) }
        #expect(answer.status == status)
        #expect(answer.fields["connection"]?.lowercased() == "close")
    }

    @Test("nothing after a connection's last request is answered")
    func behindTheLast() async throws {
        let last = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        let text = try await Served.run {
            try await $0.wire.talk("GET /health HTTP/1.1\r\nHost: a\r\n\r\n" + last + last)
        }
        #expect(text.split(separator: "HTTP/1.1 200 OK").count == 2)
    }

    @Test("a body that is too large is refused before it is read, and the connection is closed")
    func largeBody() async throws {
        try await Served.run {
            $0.limits.bodyBytes = 1_024
        } body: { served in
            let large = String(repeating: " ", count: 1_025)
            let answer = try await served.wire.post(Self.path, large)
            #expect(answer.status == 413)
            #expect(answer.fields["connection"] == "close")
            let head = "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
            let chunks = "Transfer-Encoding: chunked\r\n\r\n400\r\n\(large.dropLast())\r\n1\r\n \r\n"
            #expect(WireAnswer(try await served.wire.talk(head + chunks)).status == 413)
        }
    }

    @Test("a body that never ends is abandoned")
    func slowBody() async throws {
        let answer = try await Served.run {
            $0.limits.bodyTime = .milliseconds(50)
        } body: { served in
            let head =
                "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\nContent-Length: 9\r\n\r\n"
            return WireAnswer(try await served.wire.talk(head))
        }
        #expect(answer.status == 408)
        #expect(answer.body.contains("errorDetails"))
    }

    @Test("a body that stalls after its answer closes the connection without a second answer")
    func stalledBehindItsAnswer() async throws {
        let text = try await Served.run {
            $0.limits.bodyTime = .milliseconds(50)
        } body: { served in
            try await served.wire.talk("POST \(Self.path) HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        }
        // On a machine so busy that the deadline comes before the answer, only the deadline's answer is sent.
        #expect(text.hasPrefix("HTTP/1.1 401 ") || text.hasPrefix("HTTP/1.1 408 "))
        #expect(text.split(separator: "HTTP/1.1 ").count == 1)
    }

    @Test("an unread chunked body closes the connection, whatever follows it")
    func unreadChunks() async throws {
        let head = "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        let text = try await Served.run {
            try await $0.wire.talk(head + "zz\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        }
        #expect(!text.contains(" 200 "))
        #expect(text.split(separator: "HTTP/1.1 ").count == 1)
    }

    @Test("a client that expects 100 Continue gets it")
    func expectContinue() async throws {
        let text = try await Served.run { served in
            let head =
                "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\nExpect: 100-continue\r\n"
            return try await served.wire.talk(head + "Content-Length: 34\r\n\r\n") { $0.contains("100 Continue") }
        }
        #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\n"))
    }

    @Test(
        "a tenant's routes need the tenant's token, in either of two fields",
        arguments: [
            ([:], 401), (["Authorization": "Bearer t0ken"], 200), (["Authorization": "bearer  t0ken"], 200),
            (["Authorization": "Bearer t0keN"], 401), (["Authorization": "Bearer"], 401),
            (["Authorization": "Basic t0ken"], 401), (["Authorization": "Bearer t0ken x"], 401),
            (["X-API-Key": "t0ken"], 200), (["X-API-Key": "other"], 401),
            (["Authorization": "Bearer x", "X-API-Key": "t0ken"], 401), (["Authorization": "Bearer 0perator"], 401),
        ]
    )
    func tokens(fields: [String: String], status: Int) async throws {
        let answer = try await Served.run { try await $0.wire.request("POST", Self.path, fields, Self.ada) }
        #expect(answer.status == status)
        #expect((answer.fields["www-authenticate"] == "Bearer") == (status == 401))
    }

    @Test(
        "a route accepts its method, names it for others, and exists at no other path",
        arguments: [
            ("GET", "/ofrep/v1/evaluate/flags", 405, "POST, OPTIONS"), ("POST", "/health", 405, "GET, HEAD, OPTIONS"),
            ("DELETE", "/v1/events", 405, "POST, OPTIONS"), ("GET", "/nothing", 404, nil),
            ("HEAD", "/health", 200, nil), ("OPTIONS", "/v1/events", 204, "POST, OPTIONS"),
        ]
    )
    func methods(method: String, path: String, status: Int, allow: String?) async throws {
        let answer = try await Served.run { try await $0.wire.request(method, path) }
        #expect(answer.status == status)
        #expect(answer.fields["allow"] == allow)
        if method == "HEAD" { #expect(answer.body == "") }
    }

    @Test("a page of an allowed origin can read the tag; other origins can't call")
    func crossOrigin() async throws {
        try await Served.run {
            $0.origins = ["https://shop.example"]
        } body: { served in
            let path = "/ofrep/v1/evaluate/flags"
            let own = try await served.wire.post(path, Self.ada, ["Origin": "https://shop.example"])
            #expect(own.fields["access-control-allow-origin"] == "https://shop.example")
            #expect(own.fields["access-control-expose-headers"] == "etag, retry-after")
            #expect(own.fields["vary"] == "origin")
            let other = try await served.wire.post(path, Self.ada, ["Origin": "https://other.example"])
            #expect(other.fields["access-control-allow-origin"] == nil)
            #expect(other.fields["vary"] == "origin")
            let asked = try await served.wire.request("OPTIONS", path, ["Origin": "https://shop.example"])
            #expect(asked.fields["access-control-allow-headers"]?.contains("if-none-match") == true)
            #expect(asked.fields["access-control-allow-headers"]?.contains("traceparent, tracestate") == true)
            #expect(asked.fields["access-control-allow-methods"] == "POST")
            #expect(asked.fields["access-control-allow-origin"] == "https://shop.example")
            let foreign = try await served.wire.request("OPTIONS", path, ["Origin": "https://other.example"])
            #expect(foreign.fields["access-control-allow-origin"] == nil)
        }
    }

    @Test("where all origins may call, each is allowed without being named")
    func anyOrigin() async throws {
        try await Served.run {
            $0.origins = ["*"]
        } body: { served in
            let path = "/ofrep/v1/evaluate/flags"
            for method in ["POST", "OPTIONS"] {
                let fields = ["Origin": "https://any.example", "Authorization": "Bearer t0ken"]
                let answer = try await served.wire.request(method, path, fields, Self.ada)
                #expect(answer.fields["access-control-allow-origin"] == "*")
                #expect(answer.fields["vary"] == nil)
            }
        }
    }

    @Test("a tenant over its rate limit is told when to retry, and others aren't affected")
    func rateLimit() async throws {
        try await Served.run { configuration in
            configuration.tenants[0].rateLimit = RateLimit(perSecond: 0.01, burst: 2)
            configuration.tenants.append(Served.tenant("other", token: "0ther"))
        } body: { served in
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await served.wire.post(Self.path, Self.ada).status) }
            #expect(statuses == [200, 200, 429])
            let refused = try await served.wire.post(Self.path, Self.ada)
            #expect((refused.fields["retry-after"].flatMap { Int($0) } ?? 0) > 50)
            #expect(try await served.wire.post(Self.path, Self.ada, token: "0ther").status == 200)
        }
    }

    @Test("a token bucket fills at its rate up to its burst")
    func bucket() {
        let start = ContinuousClock.now
        let limiter = RateLimiter(RateLimit(perSecond: 2, burst: 3), now: start)
        func take(_ seconds: Double) -> Int? { limiter.take(at: start.advanced(by: .seconds(seconds))) }
        #expect([take(0), take(0), take(0), take(0)] == [nil, nil, nil, 1])
        #expect([take(0.5), take(0.5)] == [nil, 1])
        #expect([take(100), take(100), take(100), take(100)] == [nil, nil, nil, 1])
        // A clock reading that arrives late takes no tokens away.
        #expect(take(50) == 1)
    }

    @Test("a token bucket that hardly ever fills asks for a wait of a day")
    func slowBucket() {
        let start = ContinuousClock.now
        let limiter = RateLimiter(RateLimit(perSecond: 1e-20, burst: 1), now: start)
        #expect(limiter.take(at: start) == nil)
        #expect(limiter.take(at: start) == 86_400)
    }

    @Test("a connection's cached token matches no other token")
    func lastToken() {
        var last = LastToken()
        for token in ["t0ken", "t0ken", "t0keN", "t0ken", "", "t0ke", "t0ken\u{0}", "t0ken"] {
            #expect(last.digest(of: token) == TokenDigest(of: token), "\(token)")
        }
    }

    @Test("a digest is parsed strictly, compared in full and never shown")
    func digests() {
        let digest = TokenDigest(of: "t0ken")
        let written = "b6f4a8a1f1c1c2c9a5b4a19a53fdcb50b5f0f2a9f5b2bb1fd3f3a6e9d76f0e2c"
        #expect(TokenDigest(hexadecimal: written) != nil)
        #expect(TokenDigest(hexadecimal: written) != digest)
        for wrong in [
            "", String(written.dropLast()), written + "0", "g" + written.dropFirst(), "+" + written.dropFirst(),
        ] {
            #expect(TokenDigest(hexadecimal: wrong) == nil, "\(wrong)")
        }
        #expect("\(digest)" == "<digest>")
        #expect(
            TokenDigest(hexadecimal: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
                == TokenDigest(of: "test")
        )
    }
}
