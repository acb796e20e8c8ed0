import Experimentation
import FlagManifest

/// A tenant being served: its connection, and the parts that answer its requests.
final class Tenant: Sendable {
    let configuration: TenantConfiguration
    let connection: TenantConnection
    let evaluator: Evaluator
    let limiter: RateLimiter?

    /// The tenant's name.
    var name: String { configuration.name }
    private var client: ExperimentationClient { connection.client }

    /// Creates a tenant on a connection.
    init(_ configuration: TenantConfiguration, over connection: TenantConnection, now: ContinuousClock.Instant) {
        self.configuration = configuration
        self.connection = connection
        evaluator = Evaluator(
            connection.client,
            facts: connection.facts,
            isProvisional: connection.isProvisional,
            meanwhile: connection.meanwhile,
            assignments: configuration.assignments == .kept ? connection.assignments : nil,
            types: DeclaredTypes(configuration.types, seen: connection.types),
            exposures: configuration.exposures,
            frame: Self.frame(configuration, provider: connection.client.providerName),
            revisions: connection.revisions,
            time: connection.time
        )
        limiter = configuration.rateLimit.map { RateLimiter($0, now: now) }
    }

    /// The ticket that gives access to the stream of changes and nothing else.
    ///
    /// The ticket is part of the URL, since browsers can't send a token with the request. All instances derive the same
    /// ticket.
    var ticket: String? { Self.ticket(configuration) }

    private static func ticket(_ configuration: TenantConfiguration) -> String? {
        configuration.tokens.first?.derived(for: "event stream")
    }

    private static func frame(_ configuration: TenantConfiguration, provider: String) -> BulkFrame {
        let streams = ticket(configuration).map { ticket -> [FlagValue] in
            [["type": "sse", "endpoint": ["requestUri": .string("/ofrep/v1/stream?ticket=\(ticket)")]]]
        }
        return BulkFrame(
            metadata: [
                "provider": .string(provider), "events": "/v1/events",
                "eventsSchema": .string(EventSchema.events.path), "manifest": "/openfeature/v0/manifest",
            ],
            eventStreams: streams ?? []
        )
    }

    /// Whether this tenant's settings may lead to other answers than those of another tenant on its connection.
    func mayAnswerOtherwise(than other: Tenant) -> Bool {
        let (own, others) = (configuration, other.configuration)
        return ticket != other.ticket || own.types != others.types || own.assignments != others.assignments
            || own.consent != others.consent
    }

    /// Whether another tenant on its connection has tokens that this one refuses.
    func refusesTokens(of other: Tenant) -> Bool {
        !Set(other.configuration.tokens).isSubset(of: configuration.tokens)
    }

    /// Whether the tenant should receive requests.
    ///
    /// The status of a vendor that is asked for each user is the outcome of the last request, and another user's
    /// request may turn out differently. So only a permanent failure counts.
    var isReady: Bool {
        switch client.status {
        case .ready, .stale, .disabled: true
        case .notReady, .error: !connection.facts.isComputed || evaluator.knownForms != nil
        case .fatal: false
        }
    }

    /// The known types of the tenant's flags.
    func flagTypes() async -> [String: FlagType] {
        // A vendor that is asked for each user publishes no flags, so the observed types have to suffice.
        guard let forms = await evaluator.forms() else {
            return DeclaredTypes(configuration.types, seen: connection.types).known
        }
        var types = configuration.types
        for (key, type) in zip(forms.catalogue.keys, forms.types) {
            if let type { types[key] = type }
        }
        return types
    }
}

/// The tenants by token.
struct TenantDirectory: Sendable {
    let tenants: [Tenant]
    let tokens: TokenTable<Tenant>
    private let tickets: [String: Tenant]

    init(_ tenants: [Tenant]) {
        self.tenants = tenants
        tokens = TokenTable(tenants.flatMap { tenant in tenant.configuration.tokens.map { ($0, tenant) } })
        let pairs = tenants.compactMap { tenant in tenant.ticket.map { ($0, tenant) } }
        tickets = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the tenant whose stream a ticket gives access to; `nil` if there is none.
    func tenant(forTicket ticket: String) -> Tenant? { tickets[ticket] }
}
