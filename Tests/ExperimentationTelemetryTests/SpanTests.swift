import AdapterKit
import EngageAdapter
import EvergageAdapter
import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import FlagshipAdapter
import HTTPTypes
import InMemoryTracing
import SigmaAdapter
import Synchronization
import Testing
import Tracing

/// An in-memory tracer that injects headers as OpenTelemetry does.
private struct W3CTracer: Tracer {
    let kept = InMemoryTracer()

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        kept.startSpan(
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
    func extract<Carrier, Extract: Extractor>(_: Carrier, into: inout ServiceContext, using: Extract)
    where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    )
    where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        injector.inject("user=secret", forKey: "baggage", into: &carrier)
        injector.inject("bad\r\nvalue", forKey: "tracestate", into: &carrier)
    }
}

@Suite("Spans")
struct SpanTests {
    private func flagship(_ options: TelemetryOptions, status: Int = 200) async throws -> (W3CTracer, [HTTPRequest]) {
        let tracer = W3CTracer()
        let telemetry = Telemetry(tracer: tracer, options: options)
        let body = #"{"visitorId":"u","panic":false,"campaigns":[]}"#
        let transport = ScriptedTransport { _ in .json(body, status: status) }
        let client = try await ExperimentationClient(
            provider: FlagshipProvider(
                configuration: FlagshipConfiguration(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key"),
                transport: transport
            ),
            environment: telemetry.added(to: ClientEnvironment())
        )
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try? await session.refresh()
        try await session.track(.screenView("home"))
        try await client.flush(retrying: false)
        await client.shutdown()
        return (tracer, transport.requests.map(\.request))
    }

    @Test("a request is a child of the refresh or delivery that sends it, with method, host and status")
    func nesting() async throws {
        let (tracer, _) = try await flagship(TelemetryOptions())
        let spans = tracer.kept.finishedSpans
        #expect(tracer.kept.activeSpans.isEmpty)
        let refresh = try #require(spans.first { $0.operationName == "experimentation.refresh" })
        let asked = try #require(spans.first { $0.parentSpanID == refresh.spanID })
        #expect(asked.operationName == "POST")
        #expect(asked.kind == .client)
        #expect(asked.attributes.get("http.request.method") == .string("POST"))
        #expect(asked.attributes.get("server.address") == .string("decision.flagship.io"))
        #expect(asked.attributes.get("http.response.status_code") == .int64(200))
        let delivery = try #require(spans.first { $0.operationName == "experimentation.delivery" })
        #expect(spans.contains { $0.parentSpanID == delivery.spanID })
        #expect(delivery.kind == .producer)
        // Only the host is recorded, since a path may contain a user's id.
        #expect(!spans.contains { "\($0.attributes)".contains("u-1") })
    }

    @Test("a failed span has its error code, and an error status the status itself")
    func failures() async throws {
        let (tracer, _) = try await flagship(TelemetryOptions(), status: 400)
        let spans = tracer.kept.finishedSpans
        let refresh = try #require(spans.first { $0.operationName == "experimentation.refresh" })
        #expect(refresh.attributes.get("error.type") != nil)
        #expect(refresh.status?.code == .error)
        let asked = try #require(spans.first { $0.parentSpanID == refresh.spanID })
        #expect(asked.attributes.get("error.type") == .string("400"))
    }

    @Test(
        "trace headers go only where the options allow it, and only those defined by the W3C",
        arguments: [
            (TelemetryOptions.Propagation.none, false), (.hosts(["decision.flagship.io"]), true),
            (.hosts(["elsewhere.example"]), false), (.everywhere, true),
        ]
    )
    func propagation(propagation: TelemetryOptions.Propagation, isCarried: Bool) async throws {
        let (tracer, requests) = try await flagship(TelemetryOptions(propagation: propagation))
        let asked = try #require(requests.first { $0.authority == "decision.flagship.io" })
        let trace = asked.headerFields[HTTPField.Name("traceparent")!]
        #expect((trace != nil) == isCarried)
        if isCarried {
            let span = tracer.kept.finishedSpans.first {
                $0.attributes.get("server.address") == .string("decision.flagship.io")
            }
            #expect(trace == span.map { "00-\($0.traceID)-\($0.spanID)-01" })
        }
        #expect(requests.filter { $0.headerFields[HTTPField.Name("baggage")!] != nil } == [])
        #expect(requests.filter { $0.headerFields[HTTPField.Name("tracestate")!] != nil } == [])
        let events = try #require(requests.first { $0.authority == "events.flagship.io" })
        #expect((events.headerFields[HTTPField.Name("traceparent")!] != nil) == (propagation == .everywhere))
    }

    /// Remembers operations, and sends a header field of its own.
    private struct Onlooker: OperationObserver {
        let seen = Box()

        final class Box: Sendable {
            let operations = Mutex<[ObservedOperation]>([])
        }

        func around<Value: Sendable>(
            _ operation: ObservedOperation,
            isolation: isolated (any Actor)?,
            _ body: ([String: String]) async -> (Value, OperationOutcome)
        ) async -> Value {
            seen.operations.withLock { $0.append(operation) }
            return await body(["traceparent": "the application's", "x-shop": "1"]).0
        }
    }

    @Test("an observer that the environment already has is kept, around the spans")
    func nested() async throws {
        let (tracer, onlooker) = (W3CTracer(), Onlooker())
        let telemetry = Telemetry(tracer: tracer, options: TelemetryOptions(propagation: .everywhere))
        let environment = telemetry.added(to: ClientEnvironment(operations: onlooker))
        let request = ObservedOperation.request(method: "GET", host: "shop.example")
        let fields = try await environment.observed(request) { $0 }
        let span = try #require(tracer.kept.finishedSpans.first)
        #expect(tracer.kept.finishedSpans.map(\.operationName) == ["GET"])
        #expect(onlooker.seen.operations.withLock { $0 } == [request])
        #expect(fields["x-shop"] == "1" && fields["traceparent"] == "00-\(span.traceID)-\(span.spanID)-01")
    }

    @Test("every adapter's requests are spans", arguments: ["sigma", "engage", "evergage"])
    func everyAdapter(vendor: String) async throws {
        let tracer = W3CTracer()
        let telemetry = Telemetry(tracer: tracer)
        let transport = ScriptedTransport { _ in .status(503) }
        let provider: any ExperimentationProvider =
            switch vendor {
            case "sigma": SigmaProvider(configuration: SigmaConfiguration(projectToken: "t"), transport: transport)
            case "engage":
                EngageProvider(
                    configuration: try EngageConfiguration(
                        host: "https://api.example.com",
                        credentials: .init(clientID: "c", clientSecret: "s", refreshToken: "r"),
                        listID: "1"
                    ),
                    transport: transport
                )
            default:
                EvergageProvider(
                    configuration: try EvergageConfiguration(account: "a", dataset: "d"),
                    transport: transport
                )
            }
        let client = try await ExperimentationClient(
            provider: provider,
            environment: telemetry.added(to: ClientEnvironment())
        )
        let session = client.session(for: User(id: "u-1", consent: .granted))
        try? await session.refresh()
        try? await session.track(.screenView("home"))
        try? await session.track(.custom("paid"))
        try await client.flush(retrying: false)
        await client.shutdown()
        #expect(!transport.requests.isEmpty)
        #expect(tracer.kept.finishedSpans.count { $0.kind == .client } == transport.requests.count)
    }
}
