import Experimentation
import GatewayBodies
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Answers within the event loop; all other answers, and every error, go through `respond`.
extension Responder {
    /// The maximum size of a body that isn't worth a task of its own.
    private static let smallBody = 65_536

    /// Whether a request may be answered at once, according to its head.
    func mayAnswerAtOnce(_ head: HTTPRequestHead) -> Bool {
        guard !readiness.isDraining else { return false }
        switch head.method {
        case .POST:
            guard head.uri.utf8.starts(with: Route.evaluation.utf8), !head.headers.contains(name: "transfer-encoding")
            else { return false }
            guard let length = head.headers.first(name: "content-length").flatMap({ Int($0) }) else { return false }
            return length <= min(Self.smallBody, limits.bodyBytes)
        case .GET:
            // A body would be collected whatever its size, before the token is checked.
            return head.uri.utf8.starts(with: Route.changes.utf8) && !Self.hasBody(head.headers)
        default: return false
        }
    }

    /// Whether a body follows a head, or may follow it.
    private static func hasBody(_ fields: HTTPHeaders) -> Bool {
        if fields.contains(name: "transfer-encoding") { return true }
        return fields.first(name: "content-length").map { Int($0) != 0 } ?? false
    }

    /// Evaluates one flag or all, if nothing has to be awaited for it.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - body: Its body.
    ///   - last: The token that the connection sent last.
    /// - Returns: The answer; `nil` if it has to be awaited, or if it would be an error.
    func evaluateAtOnce(
        _ head: HTTPRequestHead,
        _ body: ByteBuffer,
        _ last: inout LastToken
    ) -> (head: HTTPResponseHead, body: ByteBuffer?)? {
        let begin = time.instant
        // The last answer of a connection says that it is the last, even if the shutdown began while its request
        // arrived.
        let target = Target(head.uri)
        guard !readiness.isDraining, let route = Route(path: target.path),
            let token = Self.token(of: head.headers),
            let tenant = tenants.tokens.holder(of: last.digest(of: token)),
            let question = Question(route, target, body, head.headers, tenant), tenant.limiter?.take(at: begin) == nil
        else { return nil }
        guard let answer = question.answer(by: tenant.evaluator) else {
            // `respond` takes it from the bucket again.
            tenant.limiter?.giveBack()
            return nil
        }
        var fields = HTTPHeaders()
        fields.reserveCapacity(8)
        if let tag = answer.tag {
            fields.add(name: "etag", value: tag)
            fields.add(name: "cache-control", value: EvaluationAnswer.caching)
        }
        if let body = answer.body {
            fields.add(name: "content-type", value: EvaluationAnswer.type)
            fields.add(name: "content-length", value: String(body.readableBytes))
        }
        finish(&fields, head)
        var exchange = Exchange(route: route)
        exchange.tenant = tenant.name
        counters.count(exchange, status: answer.status.code, took: begin.duration(to: time.instant))
        tracing.end(
            tracing.begin(head.method.rawValue, route, .init(head.headers)),
            exchange,
            status: answer.status.code
        )
        let status = HTTPResponseStatus(statusCode: answer.status.code)
        return (HTTPResponseHead(version: .http1_1, status: status, headers: fields), answer.body)
    }

    /// Lets a client listen for changes.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - listener: The client.
    /// - Returns: The beginning of the answer, and the client's place; `nil` if it may not listen, or if there are too
    ///   many.
    func listenAtOnce(
        _ head: HTTPRequestHead,
        _ listener: ChangeStreams.Listener
    ) -> (head: HTTPResponseHead, changes: ChangeStreams, place: ChangeStreams.Place)? {
        let begin = time.instant
        let target = Target(head.uri)
        guard Route(path: target.path) == .stream else { return nil }
        let key = StreamKey(ticket: target.parameter("ticket"), token: Self.token(of: head.headers))
        guard let tenant = key.tenant(of: tenants), let place = listen(listener, to: tenant, by: key) else {
            return nil
        }
        var fields = HTTPHeaders()
        for field in ChangeStreams.fields { fields.add(name: field.name.canonicalName, value: field.value) }
        // No request that is sent after this one would be answered.
        fields.add(name: "connection", value: "close")
        finish(&fields, head)
        var exchange = Exchange(route: .stream)
        exchange.tenant = tenant.name
        counters.count(exchange, status: 200, took: begin.duration(to: time.instant))
        tracing.end(tracing.begin(head.method.rawValue, .stream, .init(head.headers)), exchange, status: 200)
        return (HTTPResponseHead(version: .http1_1, status: .ok, headers: fields), tenant.connection.changes, place)
    }

    /// Adds a client to the listeners of a tenant's changes.
    ///
    /// - Parameters:
    ///   - listener: The client.
    ///   - tenant: The tenant that its key opened.
    ///   - key: The key.
    /// - Returns: Its place; `nil` if there are too many, or the key opens this stream no longer.
    func listen(
        _ listener: ChangeStreams.Listener,
        to tenant: Tenant,
        by key: StreamKey
    ) -> ChangeStreams.Place? {
        let changes = tenant.connection.changes
        guard let place = changes.listen(listener, atMost: tenant.configuration.streams) else { return nil }
        // If a reload removed the key before the client had its place, it ended only the streams of others.
        if key.tenant(of: tenants)?.connection.changes === changes { return place }
        changes.leave(place.id)
        return nil
    }

    /// An evaluation request that may be answered at once.
    private enum Question {
        case flag(String, EvaluationRequest)
        case flags(User, ByteBuffer, ifNoneMatch: String?, announced: Int64?)
        /// A request whose answer is remembered.
        case known(EvaluationAnswer)

        /// Reads a request; `nil` for another route, and for a body that is refused.
        init?(_ route: Route, _ target: Target, _ body: ByteBuffer, _ fields: HTTPHeaders, _ tenant: Tenant) {
            let tags = route == .flags ? Responder.tags(of: fields) : nil
            let announced = route == .flags ? target.announced : nil
            if let tags, let answer = tenant.evaluator.unchangedAtOnce(body, ifNoneMatch: tags, announced: announced) {
                self = .known(answer)
                return
            }
            let consent = tenant.configuration.consent
            guard let request = try? EvaluationRequest(body: Array(body.readableBytesView), consent: consent) else {
                return nil
            }
            switch route {
            case .flag(let key): self = .flag(key, request)
            case .flags: self = .flags(request.user, body, ifNoneMatch: tags, announced: announced)
            default: return nil
            }
        }

        func answer(by evaluator: Evaluator) -> EvaluationAnswer? {
            switch self {
            case .known(let answer): answer
            case .flag(let key, let request): evaluator.evaluateAtOnce(key, request)
            case .flags(let user, let body, let tags, let announced):
                evaluator.evaluateAllAtOnce(user, body, ifNoneMatch: tags, announced: announced)
            }
        }
    }

    /// A request's token; `nil` also if a field for it appears twice, because then there is no valid token.
    private static func token(of fields: HTTPHeaders) -> String? {
        let (authorization, key) = (fields["authorization"], fields["x-api-key"])
        guard authorization.count <= 1, key.count <= 1 else { return nil }
        return BearerToken.read(authorization: authorization.first, key: key.first)
    }

    /// The tags of all `If-None-Match` fields.
    fileprivate static func tags(of fields: HTTPHeaders) -> String? {
        let all = fields["if-none-match"]
        return all.isEmpty ? nil : all.joined(separator: ",")
    }

    /// Adds the fields that all answers have.
    private func finish(_ fields: inout HTTPHeaders, _ head: HTTPRequestHead) {
        crossOrigin.mark(origin: head.headers.first(name: "origin")) {
            fields.add(name: $0.canonicalName, value: $1)
        }
        fields.add(name: "date", value: dates.text)
    }
}
