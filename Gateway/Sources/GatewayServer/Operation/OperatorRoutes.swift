import Experimentation
import Foundation
import HTTPTypes
import HummingbirdCore

/// The routes for operators: metrics for programs, and a console for people.
///
/// The console's page contains no data and needs no token; its data does.
final class OperatorRoutes: Sendable {
    private let tokens: TokenTable<Void>
    private let readiness: Readiness
    private let counters: Counters
    private let messages: RecentMessages
    private let time: any TimeSource
    private let begin: ContinuousClock.Instant

    init(
        tokens: [TokenDigest],
        readiness: Readiness,
        counters: Counters,
        messages: RecentMessages,
        time: any TimeSource
    ) {
        self.tokens = TokenTable(tokens.map { ($0, ()) })
        self.readiness = readiness
        self.counters = counters
        self.messages = messages
        self.time = time
        begin = time.instant
    }

    /// Answers `/metrics`, `/console` and `/console/state`.
    func answer(_ route: Route, _ request: Request, _ tenants: [Tenant]) async -> Answer {
        if route == .console { return Self.page }
        guard request.token.flatMap({ tokens.holder(of: $0) }) != nil else {
            return .empty(.unauthorized, [.wwwAuthenticate: "Bearer"])
        }
        let figures = await TenantFigures.of(tenants)
        guard route == .metrics else { return .json(.ok, state(figures), [.cacheControl: "no-store"]) }
        let text = MetricsText.of(counters.figures, figures, isReady: readiness.isReady(tenants))
        return .bytes(.ok, text.utf8, type: "text/plain; version=0.0.4; charset=utf-8")
    }

    private func state(_ tenants: [TenantFigures]) -> FlagValue {
        let requests = counters.figures.requests.map { key, count -> FlagValue in
            [
                "tenant": .string(key.tenant), "route": .string(key.route), "status": .int(key.status),
                "count": .int(count),
            ]
        }
        let messages = messages.messages.reversed().map { message -> FlagValue in
            [
                "at": .string(message.date.formatted(.iso8601)), "event": .string(message.entry.event),
                "message": .string(message.entry.message),
                "level": message.entry.level == .warning ? "warning" : "error",
            ]
        }
        return [
            "seconds": .double(begin.duration(to: time.instant) / .seconds(1)), "draining": .bool(readiness.isDraining),
            "tenants": .array(tenants.map(\.document)), "requests": .array(requests), "messages": .array(messages),
        ]
    }

    private static let page = Answer.bytes(
        .ok,
        ConsolePage.html.utf8,
        type: "text/html; charset=utf-8",
        [
            .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            .cacheControl: "no-cache", .xContentTypeOptions: "nosniff",
        ]
    )
}
