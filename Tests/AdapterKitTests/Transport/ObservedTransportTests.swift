import Experimentation
import ExperimentationTesting
import HTTPTypes
import Testing

@testable import AdapterKit

/// Adds fields to each request.
private struct FieldAdder: OperationObserver {
    let fields: [String: String]

    func around<Value: Sendable>(
        _ operation: ObservedOperation,
        isolation: isolated (any Actor)?,
        _ body: ([String: String]) async -> (Value, OperationOutcome)
    ) async -> Value { await body(fields).0 }
}

@Suite("Observed requests")
struct ObservedTransportTests {
    @Test(
        "an observer adds fields; invalid ones, those that the engine sets and those already present are left out"
    )
    func fields() async throws {
        let added = [
            "traceparent": "00-1", "Host": "evil.example", "TE": "trailers", "content-length": "1",
            "Proxy-Authorization": "x", "not a name": "x", ":path": "/x", "X-Broken": "a\r\nX: y",
            "accept": "text/html",
        ]
        let script = ScriptedTransport([.status(204)])
        let transport = script.observed(in: ClientEnvironment(operations: FieldAdder(fields: added)))
        let request = try Endpoint("https://example.com").request(.get, headers: [.accept: "application/json"])
        #expect(try await transport.send(request, body: [], limits: HTTPLimits()).status == 204)
        let traced = try #require(HTTPField.Name("traceparent"))
        #expect(
            script.requests.map(\.request.headerFields) == [[.accept: "application/json", traced: "00-1"]]
        )
    }
}
