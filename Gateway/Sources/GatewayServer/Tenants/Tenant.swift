import Experimentation
import ExperimentationSQLite
import VendorCatalog

/// A tenant that is served: its client, and what answers for it.
final class Tenant: Sendable {
    let configuration: TenantConfiguration
    let client: ExperimentationClient
    let evaluator: Evaluator
    let limiter: RateLimiter?

    /// The tenant's name.
    var name: String { configuration.name }

    /// Opens a tenant.
    ///
    /// It doesn't wait for the vendor.
    ///
    /// - Parameters:
    ///   - configuration: The tenant.
    ///   - variables: The environment variables that the vendor's secrets may name.
    ///   - environment: Time, chance and a place for messages.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    init(
        _ configuration: TenantConfiguration,
        variables: [String: String],
        environment: ClientEnvironment
    ) async throws(ExperimentationError) {
        self.configuration = configuration
        let provider = try VendorCatalog.provider(
            from: configuration.vendor,
            file: configuration.vendorFile,
            environment: variables
        )
        let store: ClientStore =
            switch configuration.store {
            case .memory: .inMemory()
            case .file(let url): try await .sqlite(at: url, for: provider, log: environment.log)
            }
        client = try await ExperimentationClient(
            provider: provider,
            store: store,
            options: ClientOptions(name: configuration.name, exposurePolicy: .manual),
            environment: environment
        )
        evaluator = Evaluator(
            client,
            types: DeclaredTypes(configuration.types),
            exposures: configuration.exposures,
            frame: BulkFrame(metadata: ["provider": .string(client.providerName)])
        )
        limiter = configuration.rateLimit.map { RateLimiter($0, now: environment.time.instant) }
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
}

/// All tenants, by their tokens.
struct TenantDirectory: Sendable {
    let tenants: [Tenant]
    let tokens: TokenTable<Tenant>

    init(_ tenants: [Tenant]) {
        self.tenants = tenants
        tokens = TokenTable(tenants.flatMap { tenant in tenant.configuration.tokens.map { ($0, tenant) } })
    }
}
