import Experimentation
import ExperimentationTesting
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import GatewayServer

@Suite("Routes within the event loop")
struct HotRouteTests {
    private static let path = "/ofrep/v1/evaluate/flags"
    private static let bodies = [
        #"{"context":{"targetingKey":"ada"}}"#, #"{"context":{"targetingKey":"bob","plan":"pro","consent":true}}"#,
        #"{"context":{"targetingKey":"eve","consent":"denied","anonymousId":"x"}}"#,
    ]

    private static func head(_ path: String, _ fields: [String: String] = [:]) -> HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: path)
        head.headers.add(name: "Authorization", value: "Bearer t0ken")
        head.headers.add(name: "Content-Length", value: "10")
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        return head
    }

    private static func answer(
        _ responder: Responder,
        _ head: HTTPRequestHead,
        _ body: ByteBuffer
    ) -> (head: HTTPResponseHead, body: ByteBuffer?)? {
        var token = LastToken()
        return responder.evaluateAtOnce(head, body, &token)
    }

    @Test("answers within the event loop equal the others in status, fields and body")
    func same() async throws {
        // The first gateway's rules are valid for an hour; the other's never are, so each answer is waited for.
        let answers = try await [Served.publisher(), Served.publisher(validFor: .zero)].asyncMap { provider in
            try await Served.run(over: provider, provider) {
                $0.origins = ["https://shop.example"]
            } body: { served in
                _ = try await served.wire.post(Self.path, Self.bodies[0])
                var answers: [WireAnswer] = []
                for body in Self.bodies {
                    for key in ["", "/text", "/float", "/a%2Fb", "/none", "/plan", "/nothing"] {
                        let origin = ["Origin": "https://shop.example"]
                        var answer = try await served.wire.post(Self.path + key, body, origin)
                        answers.append(answer)
                        if let tag = answer.fields["etag"] {
                            answer = try await served.wire.post(Self.path + key, body, ["If-None-Match": "W/\(tag), x"])
                            #expect(answer.status == 304)
                            answers.append(answer)
                        }
                    }
                }
                return answers.map { answer in
                    var answer = answer
                    #expect(answer.fields.removeValue(forKey: "date") != nil)
                    return answer
                }
            }
        }
        #expect(answers[0] == answers[1])
        #expect(answers[0].count == 24)
    }

    @Test("evaluations with valid rules are answered at once; all others, and errors, go to the handlers")
    func which() async throws {
        try await Served.run { served in
            let responder = served.gateway.responder
            let body = ByteBuffer(string: Self.bodies[0])
            #expect(Self.answer(responder, Self.head(Self.path), body) == nil)
            _ = try await served.wire.post(Self.path, Self.bodies[0])
            for path in [Self.path, "\(Self.path)/text", "\(Self.path)/a%2Fb"] {
                let answer = try #require(Self.answer(responder, Self.head(path), body))
                #expect(answer.head.status == .ok)
            }
            #expect(Self.answer(responder, Self.head("\(Self.path)/nothing"), body) == nil)
            #expect(Self.answer(responder, Self.head("\(Self.path)/%zz"), body) == nil)
            #expect(Self.answer(responder, Self.head(Self.path), ByteBuffer(string: "{")) == nil)
            served.provider.setFailure(ExperimentationError(.transport, "gone"))
            try? await served.client.refresh(force: true)
            #expect(Self.answer(responder, Self.head(Self.path), body) == nil)
            // What can't be buffered in a moment, or isn't an evaluation, isn't even looked at.
            #expect(responder.mayAnswerAtOnce(Self.head(Self.path)))
            #expect(!responder.mayAnswerAtOnce(Self.head("/v1/events")))
            #expect(!responder.mayAnswerAtOnce(Self.head(Self.path, ["Transfer-Encoding": "chunked"])))
            var large = Self.head(Self.path)
            large.headers.replaceOrAdd(name: "Content-Length", value: "70000")
            #expect(!responder.mayAnswerAtOnce(large))
            served.provider.setFailure(nil)
            try await served.client.refresh(force: true)
            #expect(Self.answer(responder, Self.head(Self.path), body) != nil)
            for field in ["Authorization", "X-API-Key"] {
                var doubled = Self.head(Self.path)
                if field == "X-API-Key" {
                    doubled.headers.remove(name: "Authorization")
                    doubled.headers.add(name: field, value: "t0ken")
                    #expect(Self.answer(responder, doubled, body) != nil)
                }
                doubled.headers.add(name: field, value: "Bearer t0ken")
                #expect(Self.answer(responder, doubled, body) == nil)
            }
            served.gateway.readiness.drain()
            #expect(!responder.mayAnswerAtOnce(Self.head(Self.path)))
            #expect(Self.answer(responder, Self.head(Self.path), body) == nil)
        }
    }

    @Test(
        "a stream is opened at once only without a body, which nothing limits there",
        arguments: [
            ([], true), ([("Content-Length", "0")], true), ([("Content-Length", "1")], false),
            ([("Content-Length", "x")], false), ([("Transfer-Encoding", "chunked")], false),
            ([("content-length", "0"), ("transfer-encoding", "identity")], false),
        ] as [([(String, String)], Bool)]
    )
    func bodyOfGET(fields: [(String, String)], isAtOnce: Bool) async throws {
        try await Served.run { served in
            var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/ofrep/v1/stream?ticket=x")
            for (name, value) in fields { head.headers.add(name: name, value: value) }
            #expect(served.gateway.responder.mayAnswerAtOnce(head) == isAtOnce)
        }
    }

    @Test("a first assignment is stored; later evaluations don't need the store")
    func assignments() async throws {
        let provider = InMemoryProvider(
            flags: Served.flags,
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "button"),
                    arms: [.init(Variation(id: "blue"), weight: 100, flags: ["button": "blue"])]
                )
            ],
            freshness: Freshness(lifetime: .seconds(3_600))
        )
        // A stopped clock, because an answer doesn't wait for the store for longer than a second.
        try await Served.run(over: provider, provider, time: ManualTime()) { served in
            let responder = served.gateway.responder
            _ = try await served.wire.post("\(Self.path)/text", #"{"context":{"targetingKey":"first"}}"#)
            let body = #"{"context":{"targetingKey":"ada","consent":true}}"#
            let head = Self.head("\(Self.path)/button")
            #expect(Self.answer(responder, head, ByteBuffer(string: body)) == nil)
            #expect(try await served.wire.post("\(Self.path)/button", body).status == 200)
            #expect(Self.answer(responder, head, ByteBuffer(string: body)) != nil)
            // Nothing is stored of a user who denies consent, so nothing is waited for.
            let denied = #"{"context":{"targetingKey":"eve","consent":false}}"#
            #expect(Self.answer(responder, head, ByteBuffer(string: denied)) != nil)
            // However often a user reads it, the variation is exposed once.
            try await served.client.untilStored()
            let waiting = try await served.client.waitingEvents().map(\.envelope.identity.id)
            #expect(waiting == ["ada"])
        }
    }

    @Test("the rate limit counts each request once, whichever way it is answered")
    func limit() async throws {
        try await Served.run {
            $0.tenants[0].rateLimit = RateLimit(perSecond: 0.001, burst: 5)
        } body: { served in
            var statuses: [Int] = []
            // One that fetches the rules, one at once, one that fails, and one at once again.
            for key in ["/text", "/text", "/nothing", "", "/text", "/text"] {
                statuses.append(try await served.wire.post(Self.path + key, Self.bodies[0]).status)
            }
            #expect(statuses == [200, 200, 404, 200, 200, 429])
        }
    }

    @Test("a connection answered within the event loop is closed when it is idle")
    func silence() async throws {
        try await Served.run {
            // Long enough for a busy machine to have read both requests by then.
            $0.limits.idleTime = .seconds(3)
        } body: { served in
            _ = try await served.wire.post(Self.path, Self.bodies[0])
            let body = Self.bodies[0]
            let request =
                "POST \(Self.path)/text HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            // If the gateway didn't close the connection, this would wait forever.
            let text = try await served.wire.talk(request + request)
            #expect(text.components(separatedBy: "HTTP/1.1 200").count == 3)
        }
    }

    @Test("answers to a client that doesn't read them aren't buffered without limit")
    func unread() async throws {
        try await Served.run { served in
            _ = try await served.wire.post(Self.path, Self.bodies[0])
            let body = Self.bodies[0]
            let request =
                "POST \(Self.path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t0ken\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let many = String(repeating: request, count: 20_000)
            let last = request.replacing("Host: a", with: "Host: a\r\nConnection: close")
            let text = try await served.wire.talk(many + last)
            #expect(text.components(separatedBy: "HTTP/1.1 200").count == 20_002)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
