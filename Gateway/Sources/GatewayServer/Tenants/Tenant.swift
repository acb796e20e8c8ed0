import Experimentation
import FlagManifest

/// A tenant that is served: its connection, and what answers for it.
final class Tenant: Sendable {
    let configuration: TenantConfiguration
    let connection: TenantConnection
    let evaluator: Evaluator
    let limiter: RateLimiter?

    /// The tenant's name.
    var name: String { configuration.name }
    private var client: ExperimentationClient { connection.client }

    /// Puts a tenant over a connection.
    init(_ configuration: TenantConfiguration, over connection: TenantConnection, now: ContinuousClock.Instant) {
        self.configuration = configuration
        self.connection = connection
        evaluator = Evaluator(
            connection,
            keepsAssignments: configuration.assignments == .kept,
            types: DeclaredTypes(configuration.types, seen: connection.types),
            exposures: configuration.exposures,
            frame: Self.frame(configuration, provider: connection.client.providerName)
        )
        limiter = configuration.rateLimit.map { RateLimiter($0, now: now) }
    }

    /// The word that opens the stream of changes and nothing else.
    ///
    /// Browsers can send no token with it, so it stands in the address. Every instance makes the same one.
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
                "eventsSchema": "gateway-events.schema.json", "manifest": "/openfeature/v0/manifest",
            ],
            eventStreams: streams ?? []
        )
    }

    /// Whether an evaluation would be answered now.
    var isReady: Bool {
        switch client.status {
        case .ready, .stale, .disabled: true
        // A vendor that is asked for each user, or has no flags, says nothing before the first question.
        case .notReady: !client.capabilities.contains(.localEvaluation)
        case .error: evaluator.knownForms != nil
        case .fatal: false
        }
    }

    /// The types of the tenant's flags, as far as they are known.
    func flagTypes() async -> [String: FlagType] {
        // A vendor that is asked for each user publishes none: what was seen of its flags has to do.
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

/// All tenants, by their tokens.
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

    /// The tenant whose stream a ticket opens, or `nil`.
    func tenant(forTicket ticket: String) -> Tenant? { tickets[ticket] }
}
