import AdapterKit
import Experimentation
import GatewayBodies
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import Synchronization
import Tracing

/// Answers requests: finds the route and the tenant, and adds what all answers share.
final class Responder: Sendable {
    private let directory: Mutex<TenantDirectory>
    let readiness: Readiness
    private let operation: OperatorRoutes
    let counters: Counters
    let crossOrigin: CrossOrigin
    let limits: ConnectionLimits
    let dates: DateField
    let time: any TimeSource
    let tracing: RequestTracing

    init(
        tenants: TenantDirectory,
        readiness: Readiness,
        operation: OperatorRoutes,
        counters: Counters,
        crossOrigin: CrossOrigin,
        limits: ConnectionLimits,
        time: any TimeSource,
        tracing: RequestTracing
    ) {
        directory = Mutex(tenants)
        self.readiness = readiness
        self.operation = operation
        self.counters = counters
        self.crossOrigin = crossOrigin
        self.limits = limits
        self.time = time
        self.tracing = tracing
        dates = DateField(time)
    }

    /// The current tenants; a request under way keeps the tenant that it started with.
    var tenants: TenantDirectory {
        get { directory.withLock { $0 } }
        set { directory.withLock { $0 = newValue } }
    }

    /// Answers a request of a connection.
    func respond(_ request: Request, _ writer: consuming ResponseWriter) async throws {
        let begin = time.instant
        let target = Target(request.head.path ?? "")
        let route = Route(path: target.path)
        var exchange = Exchange(route: route)
        let span = tracing.begin(request.method.rawValue, route, .init(request.headers))
        var answer: Answer
        do {
            if let span {
                let known = exchange
                (answer, exchange) = try await ServiceContext.withValue(span.context) {
                    var exchange = known
                    return (try await self.answer(request, target, &exchange), exchange)
                }
            } else {
                answer = try await self.answer(request, target, &exchange)
            }
        } catch {
            // The connection is gone.
            span?.recordError(error)
            span?.end()
            throw error
        }
        tracing.end(span, exchange, status: answer.status.code)
        if !exchange.hasReadBody, mayLeaveMuch(request) { answer.fields[.connection] = "close" }
        crossOrigin.mark(&answer, for: request)
        answer.fields[.date] = dates.text
        if readiness.isDraining { answer.fields[.connection] = "close" }
        if let length = answer.body.contentLength, answer.status != .notModified, answer.status != .noContent {
            answer.fields[.contentLength] = String(length)
        }
        if request.method == .head { answer.body = ResponseBody() }
        counters.count(exchange, status: answer.status.code, took: begin.duration(to: time.instant))
        try await writer.write(
            response: HTTPResponse(status: answer.status, headerFields: answer.fields),
            body: answer.body
        )
    }

    /// Whether the unread rest of a request may be so large that the connection isn't worth keeping.
    private func mayLeaveMuch(_ request: Request) -> Bool {
        if request.headers[.transferEncoding] != nil { return true }
        return (request.headers[.contentLength].flatMap { Int($0) } ?? 0) > limits.bodyBytes
    }

    // MARK: Before the route

    private func answer(_ request: Request, _ target: Target, _ exchange: inout Exchange) async throws -> Answer {
        guard let route = exchange.route else {
            return ProtocolError(.general, "There is nothing at this path.", status: .notFound).answer()
        }
        if request.method == .options { return crossOrigin.preflight(route) }
        guard request.method == route.method || request.method == .head && route.method == .get else {
            var answer = ProtocolError(.general, "Another method is expected.", status: .methodNotAllowed).answer()
            answer.fields[.allow] = route.method == .get ? "GET, HEAD, OPTIONS" : "POST, OPTIONS"
            return answer
        }
        guard route.needsTenant else { return await open(route, request, target, &exchange) }
        guard let tenant = tenant(of: request) else {
            return .empty(.unauthorized, [.wwwAuthenticate: "Bearer"])
        }
        exchange.tenant = tenant.name
        if let wait = tenant.limiter?.take(at: time.instant) {
            return .empty(.tooManyRequests, [.retryAfter: "\(wait)"])
        }
        guard route.method == .post else { return await self.answer(route, tenant, request, target, []) }
        guard let body = try await body(of: request) else {
            return ProtocolError(.general, "The body is too large.", status: .contentTooLarge).answer()
        }
        exchange.hasReadBody = true
        return await self.answer(route, tenant, request, target, body)
    }

    private func tenant(of request: Request) -> Tenant? {
        request.token.flatMap { tenants.tokens.holder(of: $0) }
    }

    /// Reads the body; `nil` if it exceeds the limit.
    private func body(of request: Request) async throws -> [UInt8]? {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.bodyBytes { return nil }
        var bytes: [UInt8] = []
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= limits.bodyBytes else { return nil }
            bytes.append(contentsOf: part.readableBytesView)
        }
        return bytes
    }

    // MARK: Routes

    private func open(
        _ route: Route,
        _ request: Request,
        _ target: Target,
        _ exchange: inout Exchange
    ) async -> Answer {
        switch route {
        case .health: return .json(.ok, ["status": "up"])
        case .ready: return readiness.answer(tenants.tenants)
        case .schema(let schema): return schema.answer
        case .stream:
            let key = StreamKey(ticket: target.parameter("ticket"), token: request.token)
            guard let tenant = key.tenant(of: tenants) else {
                return .empty(.unauthorized, [.wwwAuthenticate: "Bearer"])
            }
            exchange.tenant = tenant.name
            // A client that may listen does so within the event loop, unless there is no room for it or the connection
            // is busy.
            if request.method == .head { return .empty(.ok, ChangeStreams.fields) }
            return tenant.connection.changes.refusal(atMost: tenant.configuration.streams)
        default: return await operation.answer(route, request, tenants.tenants)
        }
    }

    private func answer(
        _ route: Route,
        _ tenant: Tenant,
        _ request: Request,
        _ target: Target,
        _ body: [UInt8]
    ) async -> Answer {
        switch route {
        case .flag(let key): await evaluate(key, tenant, body)
        case .flags: await evaluateAll(tenant, body, ifNoneMatch: request.headers[.ifNoneMatch], target.announced)
        case .events: await take(tenant, body)
        default: Manifest.answer(await tenant.flagTypes())
        }
    }

    private func take(_ tenant: Tenant, _ body: [UInt8]) async -> Answer {
        do throws(ProtocolError) {
            let request = try EventsRequest(body: body, consent: tenant.configuration.consent)
            return EventsAnswer.of(await tenant.connection.intake.take(request.events), to: request.events)
        } catch {
            return error.answer()
        }
    }

    private func evaluate(_ key: String, _ tenant: Tenant, _ body: [UInt8]) async -> Answer {
        do throws(ProtocolError) {
            let request = try EvaluationRequest(body: body, consent: tenant.configuration.consent)
            return await tenant.evaluator.evaluate(key, request)
        } catch {
            return error.answer(for: key)
        }
    }

    private func evaluateAll(
        _ tenant: Tenant,
        _ body: [UInt8],
        ifNoneMatch: String?,
        _ announced: Int64?
    ) async -> Answer {
        do throws(ProtocolError) {
            let request = try EvaluationRequest(body: body, consent: tenant.configuration.consent)
            return await tenant.evaluator.evaluateAll(request.user, ifNoneMatch: ifNoneMatch, announced: announced)
        } catch {
            return error.answer()
        }
    }
}
