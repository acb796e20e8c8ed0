import Experimentation
import ExperimentationTesting
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

@testable import GatewayServer

@Suite("Traces")
struct TracingTests {
    private static let path = "/ofrep/v1/evaluate/flags"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    /// The expected contents of a span.
    private struct Said: Equatable {
        var name: String
        var status: Int64?
        var tenant: String?
        var trace: String
    }

    @Test("each request is a span in the caller's trace with route, status and tenant, whichever way it is answered")
    func spans() async throws {
        let tracer = InMemoryTracer()
        try await Served.run(tracer: tracer) { served in
            let fields = ["in-memory-trace-id": "trace-of-the-caller", "in-memory-span-id": "span-of-the-caller"]
            // The first fetches the rules; the second is answered within the event loop.
            for _ in 0..<2 { _ = try await served.wire.post("\(Self.path)/text", Self.ada, fields) }
            _ = try await served.wire.post("\(Self.path)/nothing", Self.ada, fields)
            _ = try await served.wire.post(Self.path, Self.ada, token: "other", fields)
            _ = try await served.wire.request("GET", "/health", fields)
            _ = try await served.wire.request("GET", "/nowhere", fields)
        }
        let said = tracer.finishedSpans.map { span in
            var status: Int64?
            if case .int64(let code)? = span.attributes.get("http.response.status_code") { status = code }
            var tenant: String?
            if case .string(let name)? = span.attributes.get("xp.tenant") { tenant = name }
            return Said(name: span.operationName, status: status, tenant: tenant, trace: span.traceID)
        }
        let trace = "trace-of-the-caller"
        let flag = "POST /ofrep/v1/evaluate/flags/{key}"
        #expect(
            said == [
                Said(name: flag, status: 200, tenant: "shop", trace: trace),
                Said(name: flag, status: 200, tenant: "shop", trace: trace),
                Said(name: flag, status: 404, tenant: "shop", trace: trace),
                Said(name: "POST /ofrep/v1/evaluate/flags", status: 401, tenant: nil, trace: trace),
                Said(name: "GET /health", status: 200, tenant: nil, trace: trace),
                Said(name: "GET", status: 404, tenant: nil, trace: trace),
            ]
        )
        #expect(tracer.finishedSpans.map(\.kind) == Array(repeating: .server, count: 6))
        #expect(tracer.finishedSpans.map(\.parentSpanID) == Array(repeating: "span-of-the-caller", count: 6))
    }

    @Test(
        "a method that isn't HTTP's names no span",
        arguments: [
            ("GET", "GET /health", "GET", "GET"), ("BREW", "HTTP /health", "HTTP", "_OTHER"),
            ("get", "HTTP /health", "HTTP", "_OTHER"), ("PATCH", "PATCH /health", "PATCH", "PATCH"),
        ]
    )
    func methods(method: String, named: String, alone: String, attribute: String) {
        let tracer = InMemoryTracer()
        let tracing = RequestTracing(tracer)
        for route in [Route.health, nil] { tracing.begin(method, route, .init(HTTPFields()))?.end() }
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == [named, alone])
        let methods = spans.map { span in
            if case .string(let method)? = span.attributes.get("http.request.method") { method } else { "" }
        }
        #expect(methods == [attribute, attribute])
    }

    @Test("a tracer can read the request's fields, such as traceparent")
    func fields() async throws {
        let tracer = ParentTracer()
        try await Served.run(tracer: tracer) { served in
            let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            for _ in 0..<2 { _ = try await served.wire.post("\(Self.path)/text", Self.ada, ["traceparent": parent]) }
        }
        let parents = tracer.spans.finishedSpans.map { [$0.traceID, $0.parentSpanID] }
        #expect(parents == Array(repeating: ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"], count: 2))
    }
}

/// The tracer in memory, which reads the W3C's field in place of its own two.
private struct ParentTracer: Tracer {
    let spans = InMemoryTracer()

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Carrier == Extract.Carrier {
        guard let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-"), parts.count == 4
        else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]),
            spanID: String(parts[2]),
            parentSpanID: nil
        )
    }

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Carrier == Inject.Carrier {}
}
