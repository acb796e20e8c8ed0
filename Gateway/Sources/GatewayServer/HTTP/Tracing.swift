import HTTPTypes
import Instrumentation
import NIOHTTP1
import Tracing

/// The spans of requests, by OpenTelemetry's conventions for HTTP; no spans if no tracer is installed.
struct RequestTracing: Sendable {
    private let tracer: (any Tracer)?

    /// Creates spans.
    ///
    /// - Parameter tracer: Where the spans go; `nil` for the process's tracer, which a program sets before it creates
    ///   the gateway.
    init(_ tracer: (any Tracer)?) {
        let tracer = tracer ?? InstrumentationSystem.tracer
        self.tracer = tracer is NoOpTracer ? nil : tracer
    }

    /// Begins the span of a request, below the caller's if its fields name one.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - route: The route that its path leads to; `nil` for none.
    ///   - fields: Reads a field of the request.
    /// - Returns: The span; `nil` without a tracer.
    func begin(_ method: String, _ route: Route?, _ fields: FieldReader) -> (any Span)? {
        guard let tracer else { return nil }
        var context = ServiceContext.topLevel
        tracer.extract(fields, into: &context, using: FieldExtractor())
        let isKnown = Self.methods.contains(method)
        let verb = isKnown ? method : "HTTP"
        let name = route.map { "\(verb) \($0.pattern)" } ?? verb
        let span = tracer.startAnySpan(name, context: context, ofKind: .server)
        span.attributes["http.request.method"] = isKnown ? method : "_OTHER"
        if let route { span.attributes["http.route"] = route.pattern }
        return span
    }

    /// The methods that may appear in the names of spans; callers must not choose names.
    private static let methods: Set = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
    ]

    /// Ends a span with the outcome of its request.
    func end(_ span: (any Span)?, _ exchange: Exchange, status: Int) {
        guard let span else { return }
        span.attributes["http.response.status_code"] = status
        if !exchange.tenant.isEmpty { span.attributes["xp.tenant"] = exchange.tenant }
        if status >= 500 { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }

    /// Reads a field by its name, whichever type of field the request has.
    struct FieldReader: Sendable {
        let value: @Sendable (_ name: String) -> String?

        init(_ fields: HTTPFields) { value = { name in HTTPField.Name(name).flatMap { fields[$0] } } }
        init(_ fields: HTTPHeaders) { value = { fields.first(name: $0) } }
    }

    private struct FieldExtractor: Extractor {
        func extract(key: String, from fields: FieldReader) -> String? { fields.value(key) }
    }
}
