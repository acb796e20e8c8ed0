import Experimentation
import Synchronization
import Tracing

/// Wraps refreshes, deliveries and requests in spans and timers.
struct OperationSpans: OperationObserver {
    let tracer: (any Tracer)?
    let meters: Meters?
    let measurements: Relay<MetricRecord>
    let freshness: LastRefreshes
    let propagation: TelemetryOptions.Propagation
    let time: any TimeSource

    func around<Value: Sendable>(
        _ operation: ObservedOperation,
        isolation: isolated (any Actor)?,
        _ body: ([String: String]) async -> (Value, OperationOutcome)
    ) async -> Value {
        let began = time.instant
        guard let tracer else {
            let (value, outcome) = await body([:])
            measure(operation, outcome, since: began)
            return value
        }
        let context = ServiceContext.current ?? .topLevel
        let span: any Span = tracer.startAnySpan(operation.spanName, context: context, ofKind: operation.spanKind)
        span.describe(operation)
        let fields = fields(of: operation, in: span.context, by: tracer)
        let (value, outcome) = await ServiceContext.withValue(span.context, isolation: isolation) { await body(fields) }
        span.describe(outcome)
        span.end()
        measure(operation, outcome, since: began)
        return value
    }

    /// The request's trace headers, if allowed for the host; only W3C headers, whatever else a tracer injects.
    private func fields(
        of operation: ObservedOperation,
        in context: ServiceContext,
        by tracer: any Tracer
    ) -> [String: String] {
        guard case .request(_, let host) = operation, propagation.reaches(host) else { return [:] }
        var fields: [String: String] = [:]
        tracer.inject(context, into: &fields, using: FieldInjector())
        return fields.filter { ["traceparent", "tracestate"].contains($0.key.lowercased()) }
    }

    private func measure(
        _ operation: ObservedOperation,
        _ outcome: OperationOutcome,
        since began: ContinuousClock.Instant
    ) {
        let ended = time.instant
        if case .refresh(let provider) = operation { freshness.note(provider, outcome.error == nil ? ended : nil) }
        guard let meters else { return }
        let duration = began.duration(to: ended)
        measurements.put {
            switch operation {
            case .refresh(let provider): meters.refreshed(in: duration, by: provider, outcome.error)
            case .delivery(let destination, _): meters.delivered(in: duration, to: destination, outcome.error)
            case .request(let method, let host): meters.requested(in: duration, method, host, outcome)
            }
        }
    }
}

/// The time of each provider's last successful refresh.
final class LastRefreshes: Sendable {
    private let instants = Mutex<[String: ContinuousClock.Instant]>([:])

    func note(_ provider: String, _ instant: ContinuousClock.Instant?) {
        guard let instant else { return }
        instants.withLock { $0[provider] = instant }
    }

    /// Returns how long ago the last successful refresh was, by provider.
    func ages(at now: ContinuousClock.Instant) -> [String: Duration] {
        instants.withLock { $0.mapValues { $0.duration(to: now) } }
    }
}

private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
}

extension ObservedOperation {
    fileprivate var spanName: String {
        switch self {
        case .refresh: "experimentation.refresh"
        case .delivery: "experimentation.delivery"
        case .request(let method, _): method
        }
    }

    fileprivate var spanKind: SpanKind {
        switch self {
        case .refresh: .internal
        case .delivery: .producer
        case .request: .client
        }
    }
}

extension Span {
    fileprivate func describe(_ operation: ObservedOperation) {
        switch operation {
        case .refresh(let provider): attributes.set("feature_flag.provider.name", value: .string(provider))
        case .delivery(let destination, let events):
            attributes.set("experimentation.destination", value: .string(destination))
            attributes.set("experimentation.events", value: .int64(Int64(events)))
        case .request(let method, let host):
            attributes.set("http.request.method", value: .string(method))
            let server = ServerAddress(authority: host)
            attributes.set("server.address", value: .string(server.host))
            if let port = server.port { attributes.set("server.port", value: .int64(Int64(port))) }
        }
    }

    fileprivate func describe(_ outcome: OperationOutcome) {
        if let status = outcome.status { attributes.set("http.response.status_code", value: .int64(Int64(status))) }
        if let delivered = outcome.delivered {
            attributes.set("experimentation.delivered", value: .int64(Int64(delivered)))
        }
        let isRefused = (outcome.status ?? 0) >= 400
        guard outcome.error != nil || isRefused else { return }
        let type = outcome.error?.rawValue.lowercased() ?? outcome.status.map(String.init) ?? ""
        attributes.set("error.type", value: .string(type))
        setStatus(SpanStatus(code: .error, message: type))
    }
}
