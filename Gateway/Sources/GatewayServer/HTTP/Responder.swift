import AdapterKit
import Experimentation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Answers requests: finds the route and the tenant, and keeps what every answer has in common.
final class Responder: Sendable {
    let tenants: Mutex<TenantDirectory>
    let readiness: Readiness
    let counters: Counters
    private let crossOrigin: CrossOrigin
    private let limits: ConnectionLimits
    private let dates: DateField
    private let time: any TimeSource

    init(
        tenants: TenantDirectory,
        readiness: Readiness,
        counters: Counters,
        crossOrigin: CrossOrigin,
        limits: ConnectionLimits,
        time: any TimeSource
    ) {
        self.tenants = Mutex(tenants)
        self.readiness = readiness
        self.counters = counters
        self.crossOrigin = crossOrigin
        self.limits = limits
        self.time = time
        dates = DateField(time)
    }

    /// Answers one request of a connection.
    func respond(_ request: Request, _ writer: consuming ResponseWriter) async throws {
        let begin = time.instant
        let target = Target(request.head.path ?? "")
        let route = Route(path: target.path)
        var exchange = Exchange(route: route)
        var answer = try await answer(request, target, &exchange)
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
        guard route.needsTenant else { return open(route) }
        guard let tenant = tenant(of: request) else {
            return .empty(.unauthorized, [.wwwAuthenticate: "Bearer"])
        }
        exchange.tenant = tenant.name
        if let wait = tenant.limiter?.take(at: time.instant) {
            return .empty(.tooManyRequests, [.retryAfter: "\(wait)"])
        }
        guard let body = try await body(of: request) else {
            var answer = ProtocolError(.general, "The body is too large.", status: .contentTooLarge).answer()
            answer.fields[.connection] = "close"
            return answer
        }
        return await self.answer(route, tenant, request, body)
    }

    private func tenant(of request: Request) -> Tenant? {
        let table = tenants.withLock { $0.tokens }
        if let field = request.headers[.authorization] {
            let parts = field.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return table.holder(of: parts[1].trimming(while: { $0 == " " }))
        }
        return request.headers[Self.keyField].flatMap { table.holder(of: $0) }
    }

    private static let keyField = HTTPField.Name("X-API-Key")!

    /// The body; `nil` if there is more than is allowed.
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

    private func open(_ route: Route) -> Answer {
        switch route {
        case .health: .json(.ok, ["status": "up"])
        case .ready: readiness.answer(tenants.withLock { $0.tenants })
        default: ProtocolError(.general, "There is nothing at this path.", status: .notFound).answer()
        }
    }

    private func answer(_ route: Route, _ tenant: Tenant, _ request: Request, _ body: [UInt8]) async -> Answer {
        switch route {
        case .flag(let key): await evaluate(key, tenant, body)
        case .flags: await evaluateAll(tenant, body, ifNoneMatch: request.headers[.ifNoneMatch])
        default: ProtocolError(.general, "There is nothing at this path.", status: .notFound).answer()
        }
    }

    private func evaluate(_ key: String, _ tenant: Tenant, _ body: [UInt8]) async -> Answer {
        do throws(ProtocolError) {
            let request = try EvaluationRequest(body: body, consent: tenant.configuration.consent)
            return await tenant.evaluator.evaluate(key, request.user)
        } catch {
            return error.answer(for: key)
        }
    }

    private func evaluateAll(_ tenant: Tenant, _ body: [UInt8], ifNoneMatch: String?) async -> Answer {
        do throws(ProtocolError) {
            let request = try EvaluationRequest(body: body, consent: tenant.configuration.consent)
            return await tenant.evaluator.evaluateAll(request.user, ifNoneMatch: ifNoneMatch)
        } catch {
            return error.answer()
        }
    }
}

extension Substring {
    /// The text without characters at its two ends.
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> String {
        var rest = drop(while: isTrimmed)
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }
}
