import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import GatewayServer

/// What the framing cases of the server suite don't try: slowness, sizes, memory, and other tenants.
@Suite("Hostile clients")
struct HostileClientTests {
    private static let path = "/ofrep/v1/evaluate/flags"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#
    private static let head = "POST \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"

    @Test(
        "a client that is slow with its head is disconnected, and others are answered meanwhile",
        arguments: ["", "POST ", "POST \(path) HTTP/1.1\r\nHost:", "\(head)X-Slow: "]
    )
    func slowHead(beginning: String) async throws {
        try await Served.run {
            $0.limits.idleTime = .seconds(2)
        } body: { served in
            // If the gateway didn't close the connection, this would wait forever.
            async let slow = served.wire.talk(beginning)
            let status = try await served.wire.post(Self.path, Self.ada).status
            #expect(status == 200)
            let text = try await slow
            #expect(!text.contains(" 200 "))
        }
    }

    @Test("a client that drips its head is disconnected, however steadily it drips")
    func drippedHead() async throws {
        try await Served.run {
            $0.limits.idleTime = .milliseconds(300)
        } body: { served in
            let drops = Self.head + String(repeating: "X: y\r\n", count: 100_000)
            let text = try await served.wire.drip(drops)
            #expect(!text.contains(" 200 "))
        }
    }

    @Test(
        "excessive sizes are refused, and the gateway continues",
        arguments: [
            (String(repeating: "[", count: 900_000), 400),
            (#"{"context":"# + String(repeating: "{\"a\":", count: 100_000), 400),
            (#"{"context":{"targetingKey":""# + String(repeating: "u", count: 999_000), 400),
            (#"{"context":{"targetingKey":"ada","n":1e999999}}"#, 400),
            (#"{"context":{"targetingKey":"ada","n":"# + String(repeating: "9", count: 100_000) + "}}", 400),
            (String(repeating: "x", count: 1_000_001), 413),
        ]
    )
    func sizes(body: String, status: Int) async throws {
        try await Served.run { served in
            for path in [Self.path, "\(Self.path)/text", "/v1/events"] {
                let answer = try await served.wire.post(path, body)
                #expect(answer.status == status, "\(path)")
                #expect(answer.body.contains("errorCode") || path == "/v1/events")
            }
            #expect(try await served.wire.post(Self.path, Self.ada).status == 200)
        }
    }

    @Test("too many fields, and fields that are too long, get an error and close the connection")
    func manyFields() async throws {
        try await Served.run { served in
            for fields in [
                (0..<10_000).map { "X-\($0): y\r\n" }.joined(), "X: \(String(repeating: "y", count: 1_000_000))\r\n",
                String(repeating: "X: y\r\n", count: 101),
            ] {
                let good = "Connection: close\r\nContent-Length: \(Self.ada.utf8.count)\r\n\r\n\(Self.ada)"
                let text = try await served.wire.talk(Self.head + fields + good)
                #expect(!text.contains(" 200 "))
                #expect(text.isEmpty || WireAnswer(text).status == 400)
            }
            #expect(try await served.wire.post(Self.path, Self.ada).status == 200)
        }
    }

    @Test(
        "the body of a GET is neither waited for nor kept",
        arguments: ["Content-Length: 1000", "Content-Length: 2000000", "Transfer-Encoding: chunked"],
        ["/ofrep/v1/stream", "/ofrep/v1/stream?ticket=forged"]
    )
    func bodyOfGET(field: String, path: String) async throws {
        try await Served.run { served in
            // The body never comes, so a server that waits for it answers that it took too long.
            let head = "GET \(path) HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n"
            let text = try await served.wire.talk(head) { $0.contains("\r\n\r\n") }
            #expect(WireAnswer(text).status == 401)
        }
    }

    @Test("a thousand clients that stop halfway take little memory, and the next client is answered")
    func halfRequests() async throws {
        try await Served.run { served in
            let half = Self.head + "Content-Length: 1000000\r\n\r\n" + String(repeating: " ", count: 10_000)
            let before = Memory.resident
            let grown = try await served.wire.hold(half, times: 500) {
                let status = try await served.wire.post(Self.path, Self.ada).status
                #expect(status == 200)
                return Memory.resident - before
            }
            // Ours included: 500 connections with two ends in this process, 10,000 bytes each.
            #expect(grown < 200_000_000, "\(grown) bytes")
            #expect(try await served.wire.post(Self.path, Self.ada).status == 200)
        }
    }

    @Test(
        "a client that sends requests and reads nothing is disconnected, and others are answered meanwhile",
        .timeLimit(.minutes(2))
    )
    func deaf() async throws {
        try await Served.run {
            $0.limits.idleTime = .seconds(1)
        } body: { served in
            let requests = String(repeating: "GET /console HTTP/1.1\r\nHost: a\r\n\r\n", count: 500)
            async let isDisconnected = served.wire.isDisconnected(byRepeating: requests)
            let status = try await served.wire.post("\(Self.path)/text", Self.ada).status
            #expect(status == 200)
            #expect(try await isDisconnected)
        }
    }

    @Test(
        "hundreds of pipelined requests are answered in order, and none is kept for a client that has left"
    )
    func pipelined() async throws {
        try await Served.run { served in
            let keys = ["text", "bool", "nothing"]
            let requests = (0..<300).map { number in
                let key = keys[number % keys.count]
                return "POST \(Self.path)/\(key) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
                    + (number == 299 ? "Connection: close\r\n" : "")
                    + "Content-Length: \(Self.ada.utf8.count)\r\n\r\n\(Self.ada)"
            }
            let text = try await served.wire.talk(requests.joined())
            let found = text.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
            #expect(found == (0..<300).map { ["200", "200", "404"][$0 % 3] })
            _ = try await served.wire.talk(requests.joined()) { _ in true }
            #expect(try await served.wire.post(Self.path, Self.ada).status == 200)
        }
    }

    @Test("requests of several tenants on one connection are each answered for their own tenant")
    func tenants() async throws {
        let others = ["other": InMemoryProvider(flags: [InMemoryFlag("secret-of-others", "their value")])]
        let provider = InMemoryProvider(flags: Served.flags)
        try await Served.run(over: provider, provider, others: others) {
            $0.tenants.append(Served.tenant("other", token: "0ther"))
        } body: { served in
            func request(_ token: String, _ path: String, _ more: String = "") -> String {
                "POST \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token)\r\n\(more)"
                    + "Content-Length: \(Self.ada.utf8.count)\r\n\r\n\(Self.ada)"
            }
            let tag = try await served.wire.post(Self.path, Self.ada, token: "0ther").fields["etag"] ?? ""
            let text = try await served.wire.talk(
                request("0ther", Self.path) + request("t0ken", Self.path, "If-None-Match: \(tag)\r\n")
                    + request("t0ken", "\(Self.path)/secret-of-others") + request("wrong", Self.path)
                    + request("0ther", Self.path, "X-API-Key: t0ken\r\nConnection: close\r\n")
            )
            let answers = text.split(separator: "HTTP/1.1 ").map { String($0) }
            #expect(answers.map { String($0.prefix(3)) } == ["200", "200", "404", "401", "200"])
            #expect(answers.map { $0.contains("their value") } == [true, false, false, false, true])
            #expect(answers.map { $0.contains("green") } == [false, true, false, false, false])
        }
    }

    @Test(
        "forged Host and Forwarded fields change nothing and appear in no answer",
        arguments: [
            ["Host": "evil.example"], ["X-Forwarded-Host": "evil.example"], ["Forwarded": "host=evil.example"],
            ["X-Original-URL": "/evil.example"], ["X-HTTP-Method-Override": "DELETE"],
            ["X-Forwarded-Prefix": "/evil.example"],
        ]
    )
    func forged(fields: [String: String]) async throws {
        try await Served.run { served in
            var lines = fields.map { "\($0): \($1)\r\n" }.joined()
            if fields["Host"] == nil { lines += "Host: a\r\n" }
            let text = try await served.wire.talk(
                "POST http://evil.example\(Self.path) HTTP/1.1\r\nAuthorization: Bearer t0ken\r\nConnection: close\r\n\(lines)"
                    + "Content-Length: \(Self.ada.utf8.count)\r\n\r\n\(Self.ada)"
            )
            let honest = try await served.wire.post(Self.path, Self.ada)
            #expect(WireAnswer(text).status == 200)
            #expect(WireAnswer(text).body == honest.body)
            #expect(!text.contains("evil"))
        }
    }

    @Test(
        "no 401 reveals anything about the token or the tenants",
        arguments: [
            "", " ", "t0ke", "t0kenn", "T0KEN", "t0ken\tx", "t0ken, t0ken", String(repeating: "t", count: 15_000), "é",
            "*", "null",
        ]
    )
    func badTokens(token: String) async throws {
        try await Served.run { served in
            var answers: Set<String> = []
            for path in [Self.path, "\(Self.path)/text", "\(Self.path)/nothing", "/v1/events"] {
                var answer = try await served.wire.request("POST", path, ["Authorization": "Bearer \(token)"], Self.ada)
                answer.fields["date"] = nil
                answers.insert("\(answer.status) \(answer.body) \(answer.fields.sorted { $0.key < $1.key })")
                #expect(answer.status == 401)
            }
            #expect(answers.count == 1, "the refusals differ: \(answers)")
        }
    }
}

/// The memory of this process.
enum Memory {
    /// The resident memory in bytes.
    static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
