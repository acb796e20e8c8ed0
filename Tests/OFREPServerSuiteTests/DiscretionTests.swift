import AdapterKit
import Experimentation
import Foundation
import MockVendors
import OFREPServerSuite
import Testing

/// What no report shows, however a server repeats it.
@Suite("OFREP server suite: discretion")
struct DiscretionTests {
    /// Every form of a report.
    private static func texts(_ report: ServerReport) throws -> String {
        report.text() + report.junit() + String(decoding: try report.json(), as: UTF8.self)
    }

    @Test("a token that an answer repeats is hidden, wherever a report cuts the answer", arguments: 570..<610)
    func repeated(padding: Int) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.change = { request, answer in
            guard request.method == "POST" else { return answer }
            let text = String(repeating: ".", count: padding) + OFREPMock.token
            return MockResponse(status: 500, type: "text/plain", text: text)
        }
        let report = try await server.run("bulk/json")
        #expect(report.failed == ["bulk/json"])
        #expect(report.results.flatMap(\.exchanges).joined().contains("..."))
        #expect(!(try Self.texts(report)).contains("ofrep-mock"))
    }

    @Test("a token that is longer than what a report shows of a request is hidden")
    func long() async throws {
        let token = String(repeating: "t", count: 400)
        var server = OtherServer(mock: OFREPMock())
        server.misread = { request in
            var request = request
            request.headers.removeAll { $0.name == "Authorization" }
            return request
        }
        server.change = { _, _ in MockResponse(status: 401) }
        let report = try await server.run("connection/absolute") { $0.token = Secret(token) }
        #expect(report.failed == ["connection/absolute"])
        #expect(report.results.flatMap(\.exchanges).joined().contains("POST http://"))
        #expect(!(try Self.texts(report)).contains("ttt"))
    }

    @Test("an answer that isn't HTTP is shown without the token that it repeats", arguments: 62..<80)
    func malformed(padding: Int) async throws {
        var server = OtherServer(mock: OFREPMock())
        server.change = { request, answer in
            guard request.text.contains("flagKeys") else { return answer }
            var answer = answer
            answer.headers.append(.init("", String(repeating: ".", count: padding) + OFREPMock.token))
            return answer
        }
        let report = try await server.run("bulk/unknown-members")
        #expect(report.failed == ["bulk/unknown-members"])
        #expect(report.text().contains("..."))
        #expect(!(try Self.texts(report)).contains("ofrep-mock"))
    }

    @Test("the addresses of streams are hidden, and the rest of the answer is shown")
    func addresses() async throws {
        var server = OtherServer(mock: OFREPMock())
        server.change = { _, answer in
            var answer = answer
            answer.edit { members in
                guard members["eventStreams"] != nil else { return }
                members["eventStreams"] = [
                    ["type": "sse", "url": "https://example.com/ticket-canary"],
                    [
                        "type": "sse", "inactivityDelaySec": 7,
                        "endpoint": ["requestUri": "/ofrep/v1/sse?ticket-canary"],
                    ],
                ]
                // So that the case fails and shows the answer.
                members["errorCode"] = "GENERAL"
            }
            return answer
        }
        let report = try await server.run("bulk/no-error-in-good")
        #expect(report.failed == ["bulk/no-error-in-good"])
        let shown = report.results.flatMap(\.exchanges).joined()
        #expect(shown.contains("eventStreams") && shown.contains("inactivityDelaySec"))
        #expect(!(try Self.texts(report)).contains("ticket-canary"))
    }
}
