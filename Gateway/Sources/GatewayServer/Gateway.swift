import Experimentation
import Foundation
import Synchronization

/// A gateway that serves tenants over OFREP at one address.
///
/// ```swift
/// let gateway = try await Gateway(configuration)
/// try await ServiceGroup(
///     services: gateway.services { address in print(address) },
///     gracefulShutdownSignals: [.sigterm, .sigint],
///     logger: logger
/// ).run()
/// ```
public final class Gateway: Sendable {
    /// Creates a tenant's provider.
    typealias ProviderMaker =
        @Sendable (_ tenant: TenantConfiguration) throws(ExperimentationError) -> any ExperimentationProvider

    let configuration: GatewayConfiguration
    let environment: ClientEnvironment
    let responder: Responder
    let readiness = Readiness()
    private let makeProvider: ProviderMaker

    /// Opens every tenant without waiting for vendors.
    ///
    /// - Parameters:
    ///   - configuration: Tenants, address and limits.
    ///   - variables: The environment variables that secrets may refer to.
    ///   - environment: Clock, randomness and log.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    public convenience init(
        _ configuration: GatewayConfiguration,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) {
        try await self.init(configuration, environment: environment) { tenant throws(ExperimentationError) in
            try tenant.provider(variables: variables)
        }
    }

    init(
        _ configuration: GatewayConfiguration,
        environment: ClientEnvironment,
        makeProvider: @escaping ProviderMaker
    ) async throws(ExperimentationError) {
        let messages = RecentMessages(environment.log, time: environment.time)
        var environment = environment
        environment.log = messages
        self.configuration = configuration
        self.environment = environment
        self.makeProvider = makeProvider
        let counters = Counters()
        responder = Responder(
            tenants: TenantDirectory([]),
            readiness: readiness,
            operation: OperatorRoutes(
                tokens: configuration.operatorTokens,
                readiness: readiness,
                counters: counters,
                messages: messages,
                time: environment.time
            ),
            counters: counters,
            crossOrigin: CrossOrigin(configuration.origins),
            limits: configuration.limits,
            time: environment.time
        )
        try await reload(configuration.tenants)
    }

    /// Replaces the tenants.
    ///
    /// A tenant with the same vendor and store keeps its connection, even if its tokens and limits change, or the stage of
    /// its move; connections no longer needed deliver what they can and are closed.
    ///
    /// - Parameter configurations: The tenants.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`; nothing changes then, except that moves of tenants before
    ///   the one that is refused may have gone on.
    public func reload(_ configurations: [TenantConfiguration]) async throws(ExperimentationError) {
        let old = responder.tenants.tenants.map(\.connection)
        var opened: [TenantConnection] = []
        var tenants: [Tenant] = []
        do throws(ExperimentationError) {
            for configuration in configurations {
                let connection: TenantConnection
                if let known = old.first(where: { $0.name == configuration.connection }) {
                    connection = known
                    try await known.follow(configuration.move)
                } else {
                    connection = try await TenantConnection(
                        configuration,
                        provider: try makeProvider(configuration),
                        environment: environment
                    )
                    opened.append(connection)
                }
                tenants.append(Tenant(configuration, over: connection, now: environment.time.instant))
            }
        } catch {
            for connection in opened { await connection.close() }
            throw error
        }
        for connection in opened { connection.watch() }
        responder.tenants = TenantDirectory(tenants)
        let needed = tenants.map { ObjectIdentifier($0.connection) }
        for connection in old where !needed.contains(ObjectIdentifier(connection)) { await connection.close() }
    }
}
