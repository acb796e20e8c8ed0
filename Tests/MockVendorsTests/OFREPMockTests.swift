import Foundation
import MockVendors
import Testing

@Suite("The mock OFREP server")
struct OFREPMockTests {
    private static let flags = Data(
        """
        {"flags":{"a/b c":{"value":true},"color":{"value":"red","rules":[{"when":[
        {"attribute":"plan","comparison":"equals","value":["pro"]}],"value":"gold"}]},
        "off":{"value":1,"disabled":true},"odd":{"value":1,"broken":true}}}
        """.utf8
    )

    private func mock() async throws -> OFREPMock {
        let mock = OFREPMock()
        try await mock.load(Self.flags)
        return mock
    }

    private func request(
        _ path: String = "/ofrep/v1/evaluate/flags",
        method: String = "POST",
        body: String = #"{"context":{"targetingKey":"u-1"}}"#,
        headers: [String: String] = [:]
    ) -> MockRequest {
        let usual = ["Authorization": "Bearer \(OFREPMock.token)", "Content-Type": "application/json"]
        let all = usual.merging(headers) { $1 }.filter { !$0.value.isEmpty }
        return MockRequest(
            method: method,
            path: path,
            headers: all.sorted { $0.key < $1.key }.map { MockRequest.Header($0.key, $0.value) },
            body: Array(body.utf8)
        )
    }

    private func text(_ response: MockResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test("answers all flags of a user, each with its type")
    func all() async throws {
        let answer = try await mock().respond(to: request(body: #"{"context":{"targetingKey":"u","plan":"pro"}}"#))
        #expect(answer.status == 200)
        for part in [
            #"{"key":"a/b c","metadata":{"owner":"shop"},"reason":"STATIC","value":true,"variant":"default"}"#,
            #"{"key":"color","metadata":{"owner":"shop"},"reason":"TARGETING_MATCH","value":"gold","variant":"rule"}"#,
            #"{"key":"off","reason":"DISABLED","variant":"off"}"#, #""errorCode":"PARSE_ERROR""#,
            #""eventStreams":[{"endpoint":{"requestUri":"/ofrep/v1/sse"},"type":"sse"}]"#,
        ] {
            #expect(text(answer).contains(part), "\(text(answer))")
        }
    }

    @Test(
        "answers one flag, its key encoded or not",
        arguments: [
            ("a%2Fb%20c", 200), ("a/b%20c", 200), ("odd", 400), ("nobody", 404),
        ]
    )
    func one(key: String, status: Int) async throws {
        #expect(try await mock().respond(to: request("/ofrep/v1/evaluate/flags/\(key)")).status == status)
    }

    @Test("an ETag covers the user's attributes, and matches in a list and in weak form")
    func tags() async throws {
        let mock = try await mock()
        let tag = await mock.respond(to: request()).headers.first { $0.name == "ETag" }?.value ?? ""
        for list in [tag, "W/\(tag)", "\"x\", \(tag)"] {
            #expect(await mock.respond(to: request(headers: ["If-None-Match": list])).status == 304)
        }
        let other = request(body: #"{"context":{"targetingKey":"u-1","plan":"pro"}}"#, headers: ["If-None-Match": tag])
        #expect(await mock.respond(to: other).status == 200)
    }

    @Test("rejects what the protocol's document doesn't allow")
    func refusals() async throws {
        let mock = try await mock()
        let cases: [(MockRequest, Int, String)] = [
            (request(headers: ["Authorization": ""]), 401, ""),
            (request(headers: ["Authorization": "Bearer no"]), 401, ""),
            (request(method: "GET"), 405, "GENERAL"), (request("/ofrep/v1/configuration"), 404, "GENERAL"),
            (request(headers: ["Content-Type": "text/plain"]), 400, "PARSE_ERROR"),
            (request(body: "{"), 400, "PARSE_ERROR"),
            (request(body: "{}"), 400, "INVALID_CONTEXT"), (request(body: #"{"context":7}"#), 400, "INVALID_CONTEXT"),
            (request(body: #"{"context":{}}"#), 400, "TARGETING_KEY_MISSING"),
            (request(body: #"{"context":{"targetingKey":7}}"#), 400, "TARGETING_KEY_MISSING"),
            (request(body: String(repeating: " ", count: 1_000_001)), 413, "GENERAL"),
        ]
        for (request, status, code) in cases {
            let answer = await mock.respond(to: request)
            #expect(answer.status == status, "\(request.method) \(request.path) \(request.text.prefix(40))")
            #expect(code.isEmpty || text(answer).contains(code))
        }
        let byKey = request(headers: ["Authorization": "", "X-API-Key": OFREPMock.token])
        #expect(await mock.respond(to: byKey).status == 200)
    }

    @Test("announces new flags to listeners, and nothing after the end")
    func stream() async throws {
        let mock = try await mock()
        var pieces = try #require(await mock.pieces(answering: request("/ofrep/v1/sse", method: "GET")))
            .makeAsyncIterator()
        #expect(await pieces.next().map { String(decoding: $0, as: UTF8.self) } == ": here\n\n")
        try await mock.load(Self.flags)
        let event = await pieces.next().map { String(decoding: $0, as: UTF8.self) }
        #expect(event == "event: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"version-3\"}\n\n")
        mock.endStreams()
        #expect(await pieces.next() == nil)
        #expect(mock.listeners == 0)
    }

    @Test("rejects a file without flags")
    func files() async throws {
        for text in ["", "[]", #"{"flags":[]}"#, #"{"flags":{"a":1}}"#, #"{"flags":{"a":{}}}"#] {
            await #expect(throws: MockWorldError.self) { try await OFREPMock().load(Data(text.utf8)) }
        }
    }
}
