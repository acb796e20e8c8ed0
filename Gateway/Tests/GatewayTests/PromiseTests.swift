import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import GatewayServer

/// P63 to P66 of `docs/reliability.md`.
@Suite("Promises to unknown clients", .serialized)
struct PromiseTests {
    private static let flags = "/ofrep/v1/evaluate/flags"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    @Test("P63: every invalid token gets the same 401, and every byte of a digest is compared")
    func authorization() async throws {
        try await Served.run { served in
            // From here on evaluations are answered within the event loop.
            #expect(try await served.wire.post(Self.flags, Self.ada).status == 200)
            let fields: [[String: String]] = [
                [:], ["Authorization": ""], ["Authorization": "Bearer"], ["Authorization": "Bearer "],
                ["Authorization": "Bearer wrong"], ["Authorization": "Bearer t0ke"],
                ["Authorization": "Bearer t0kent0ken"],
                ["Authorization": "Bearer t0ken t0ken"], ["Authorization": "Basic t0ken"], ["Authorization": "t0ken"],
                ["Authorization": "Bearer wrong", "X-API-Key": "t0ken"], ["X-API-Key": ""], ["X-API-Key": "t0ke"],
            ]
            var answers: Set<String> = []
            for fields in fields {
                let answer = try await served.wire.request("POST", Self.flags, fields, Self.ada)
                answers.insert("\(answer.status) \(answer.body)")
            }
            // Twice, and both right, because a proxy may have checked the other one. Within the event loop and beyond it.
            for path in [Self.flags, "\(Self.flags)/text", "\(Self.flags)/nothing"] {
                for field in ["Authorization: Bearer t0ken", "X-API-Key: t0ken"] {
                    for second in [field, field.replacing("t0ken", with: "wrong")] {
                        for pair in [[field, second], [second, field]] {
                            let text = try await served.wire.talk(
                                "POST \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(pair[0])\r\n\(pair[1])\r\n"
                                    + "Content-Length: \(Self.ada.utf8.count)\r\n\r\n\(Self.ada)"
                            )
                            answers.insert("\(WireAnswer(text).status) \(WireAnswer(text).body)")
                        }
                    }
                }
            }
            #expect(answers == ["401 "])
            // 64 KB of a token is more than a head may have.
            let long = String(repeating: "t", count: 65_536)
            let head = "POST \(Self.flags) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(long)\r\n\r\n"
            #expect(try await !served.wire.talk(head).contains(" 200 "))
            // The name of a scheme is case-insensitive: RFC 9110, 11.1.
            let lower = try await served.wire.request("POST", Self.flags, ["Authorization": "bearer t0ken"], Self.ada)
            #expect(lower.status == 200)
        }
        let digest = String(repeating: "ab", count: 32)
        let whole = try #require(TokenDigest(hexadecimal: digest))
        for place in 0..<32 {
            var digits = Array(digest)
            digits[2 * place] = "0"
            #expect(try #require(TokenDigest(hexadecimal: String(digits))) != whole)
        }
    }

    @Test("P64: slow heads and stalled bodies end in time and in bounded memory, and delay no other client")
    func bounds() async throws {
        // A head's time is the default.
        try await Served.run {
            $0.limits.bodyTime = .seconds(2)
        } body: { served in
            let head = "POST \(Self.flags) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
            let before = Memory.resident
            let begin = ContinuousClock.now
            let (bodies, times, grown) = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<200 { group.addTask { try await served.wire.talk("POST \(Self.flags) HTTP/1.1\r\nHos") } }
                for _ in 0..<50 { group.addTask { try await served.wire.talk("\(head)Content-Length: 100\r\n\r\n{") } }
                var times: [Duration] = []
                for _ in 0..<200 {
                    let start = ContinuousClock.now
                    let status = try await served.wire.post(Self.flags, Self.ada).status
                    #expect(status == 200)
                    times.append(start.duration(to: .now))
                }
                let grown = Memory.resident - before
                var bodies: [String] = []
                for try await text in group { bodies.append(text) }
                return (bodies, times.sorted(), grown)
            }
            #expect(bodies.count == 250)
            #expect(bodies.filter { $0.contains(" 200 ") } == [])
            if isSoak {
                #expect(begin.duration(to: .now) <= .seconds(10))
                #expect(times[197] <= .milliseconds(50), "\(times[197])")
                #expect(grown <= 64_000_000, "\(grown) bytes")
            }
            #expect(try await served.wire.post(Self.flags, String(repeating: " ", count: 1_048_577)).status == 413)
            for fields in [
                String(repeating: "X: y\r\n", count: 101), "X: \(String(repeating: "y", count: 16_385))\r\n",
            ] {
                let text = try await served.wire.talk("\(head)\(fields)Content-Length: 0\r\n\r\n")
                #expect(text.isEmpty || [400, 431].contains(WireAnswer(text).status), "\(text.prefix(60))")
            }
        }
    }

    @Test(
        "P65: ambiguous framing gets 400 and closes the connection, and what follows isn't executed",
        arguments: [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
            "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "Content-Length: 2, 3\r\n\r\n{}",
            "Content-Length: +2\r\n\r\n{}", "Content-Length: 0x2\r\n\r\n{}", "Content-Length: -1\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
            "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
            "X: a\nContent-Length: 2\r\n\r\n{}", "X\u{0}: a\r\nContent-Length: 2\r\n\r\n{}",
            "X : a\r\nContent-Length: 2\r\n\r\n{}", ": a\r\nContent-Length: 2\r\n\r\n{}",
        ]
    )
    func smuggling(rest: String) async throws {
        try await Served.run { served in
            let head = "POST \(Self.flags) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
            let event = #"{"id":"smuggled","user":{"id":"ada","consent":true},"event":{"type":"custom","name":"x"}}"#
            let second =
                "POST /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
                + "Content-Length: \(event.utf8.count)\r\n\r\n\(event)"
            let text = try await served.wire.talk(head + rest + second)
            #expect(text.isEmpty || WireAnswer(text).status == 400, "\(text)")
            #expect(text.components(separatedBy: "HTTP/1.1 ").count <= 2, "\(text)")
            #expect(try await served.client.ledger().accepted == 0)
        }
    }

    /// A body that is wrong in one way, and the answer to it.
    private struct Wrong {
        var path = PromiseTests.flags
        var body: String
        var status = 400
        var code: String?
    }

    private static var wrongs: [Wrong] {
        var wrongs: [Wrong] = []
        let good = #"{"context":{"targetingKey":"ada","plan":"pro","n":[1,{"a":null}]}}"#
        for path in [flags, "\(flags)/text"] {
            for length in 1..<good.utf8.count {
                wrongs.append(Wrong(path: path, body: String(good.prefix(length)), code: "PARSE_ERROR"))
            }
            for body in [
                "[]", "1", "true", "null", "\"x\"", "[{}]", "{]", "{\"context\":}", "\u{FEFF}{}x", "{}{}", "nul",
                "{\"context\" {}}", "'{}'",
            ] {
                wrongs.append(Wrong(path: path, body: body, code: "PARSE_ERROR"))
            }
            for context in ["1", "true", "\"x\"", "[]", "[{}]", "0.5", "-1", "\"\""] {
                wrongs.append(Wrong(path: path, body: "{\"context\":\(context)}", code: "INVALID_CONTEXT"))
            }
            for key in ["1", "true", "[]", "{}", "0.5", "[\"ada\"]", "{\"id\":\"ada\"}"] {
                wrongs.append(
                    Wrong(path: path, body: "{\"context\":{\"targetingKey\":\(key)}}", code: "INVALID_CONTEXT")
                )
            }
            for body in ["", "{}", "{\"context\":{}}", "{\"context\":null}", "{\"context\":{\"plan\":\"pro\"}}"] {
                wrongs.append(Wrong(path: path, body: body, code: "TARGETING_KEY_MISSING"))
            }
            for body in ["{\"context\":{\"targetingKey\":\"\"}}", "{\"context\":{\"targetingKey\":null}}"] {
                wrongs.append(Wrong(path: path, body: body, code: "TARGETING_KEY_MISSING"))
            }
        }
        for number in 0..<100 {
            wrongs.append(Wrong(path: "\(flags)/none-\(number)", body: ada, status: 404, code: "FLAG_NOT_FOUND"))
        }
        wrongs.append(Wrong(body: String(repeating: " ", count: 1_000_001), status: 413, code: "GENERAL"))
        return wrongs
    }

    @Test("P66: three hundred invalid bodies each get the right status and code, and tags distinguish contexts")
    func conformance() async throws {
        try await Served.run { served in
            #expect(Self.wrongs.count >= 300)
            for wrong in Self.wrongs {
                let answer = try await served.wire.post(wrong.path, wrong.body)
                let code = try? JSON.parse(answer.body).objectValue?["errorCode"]?.stringValue
                #expect(answer.status == wrong.status, "\(wrong)")
                #expect(code == wrong.code, "\(wrong): \(answer.body)")
            }
            let pro = #"{"context":{"targetingKey":"ada","plan":"pro"}}"#
            let first = try #require(try await served.wire.post(Self.flags, Self.ada).fields["etag"])
            let second = try #require(try await served.wire.post(Self.flags, pro).fields["etag"])
            #expect(first != second)
            for (body, tag, other) in [(Self.ada, first, second), (pro, second, first)] {
                #expect(try await served.wire.post(Self.flags, body).fields["etag"] == tag)
                #expect(try await served.wire.post(Self.flags, body, ["If-None-Match": tag]).status == 304)
                #expect(try await served.wire.post(Self.flags, body, ["If-None-Match": other]).status == 200)
            }
        }
        try await Served.run {
            $0.tenants[0].rateLimit = RateLimit(perSecond: 0.001, burst: 1)
        } body: { served in
            _ = try await served.wire.post(Self.flags, Self.ada)
            let answer = try await served.wire.post(Self.flags, Self.ada)
            #expect(answer.status == 429)
            #expect(answer.fields["retry-after"].flatMap { Int($0) }.map { $0 > 0 } == true)
        }
    }
}
