import Experimentation
import Foundation
import Synchronization
import Tracing

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
    let messages: RecentMessages
    /// The certificate with which connections are encrypted; `nil` for none.
    let certificate: CertificateInUse?
    let turns = Turns()
    /// Connections that others have replaced, and that may still finish their requests.
    let retiring = Mutex<[TenantConnection]>([])
    /// Provisional connections whose replacements are being opened.
    let reopening = Mutex<Set<ObjectIdentifier>>([])
    let isClosed = Atomic(false)
    let makeProvider: ProviderMaker

    /// Opens every tenant without waiting for vendors.
    ///
    /// - Parameters:
    ///   - configuration: Tenants, address and limits.
    ///   - variables: The environment variables that secrets may refer to.
    ///   - environment: Clock, randomness and log.
    ///   - tracer: Where the spans of requests go; `nil` for the one that the program bootstrapped, if any.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    public convenience init(
        _ configuration: GatewayConfiguration,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        environment: ClientEnvironment = ClientEnvironment(),
        tracer: (any Tracer)? = nil
    ) async throws(ExperimentationError) {
        try await self.init(
            configuration,
            environment: environment,
            tracer: tracer
        ) { tenant throws(ExperimentationError) in
            try tenant.provider(variables: variables)
        }
    }

    init(
        _ configuration: GatewayConfiguration,
        environment: ClientEnvironment,
        tracer: (any Tracer)? = nil,
        makeProvider: @escaping ProviderMaker
    ) async throws(ExperimentationError) {
        let messages = RecentMessages(environment.log, time: environment.time)
        var environment = environment
        environment.log = messages
        self.messages = messages
        self.configuration = configuration
        self.environment = environment
        self.makeProvider = makeProvider
        if let files = configuration.certificate {
            certificate = try CertificateInUse(files)
        } else {
            certificate = nil
        }
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
            time: environment.time,
            tracing: RequestTracing(tracer)
        )
        try await reload(configuration.tenants)
    }

    /// Replaces the tenants, and reads the certificate again.
    ///
    /// A tenant with the same vendor and store keeps its connection, even if its tokens and limits change, or the stage
    /// of its move. Connections no longer needed deliver what they can and are closed. If the gateway has ended
    /// meanwhile, this also applies to the connections that the reload opened.
    ///
    /// - Parameter configuration: The tenants and the certificate's files; everything else needs a restart.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`; nothing changes then, except that the moves of
    ///   tenants before the refused one may have advanced.
    public func reload(_ configuration: GatewayConfiguration) async throws(ExperimentationError) {
        try await inTurn { () throws(ExperimentationError) in
            // Read first and used last, so that a tenant that can't be opened changes nothing, not even the
            // certificate.
            let context = try configuration.certificate.map { files throws(ExperimentationError) in
                try files.context()
            }
            try await self.replace(with: configuration.tenants)
            if (self.certificate == nil) != (context == nil) {
                self.environment.log.log(
                    .warning,
                    "certificate.restart",
                    "A certificate was \(context == nil ? "removed" : "added"); this needs a restart."
                )
            }
            if let context { self.certificate?.use(context) }
        }
    }

    func reload(_ configurations: [TenantConfiguration]) async throws(ExperimentationError) {
        try await inTurn { () throws(ExperimentationError) in try await self.replace(with: configurations) }
    }

    /// Does work that replaces tenants or the certificate, once earlier work of this kind is done.
    private func inTurn(
        _ work: @escaping @Sendable () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let result = await turns.take { () async -> Result<Void, ExperimentationError> in
            do throws(ExperimentationError) { return .success(try await work()) } catch { return .failure(error) }
        }
        try result.get()
    }

    private func replace(with configurations: [TenantConfiguration]) async throws(ExperimentationError) {
        let before = responder.tenants.tenants
        let old = before.map(\.connection)
        let known = configurations.map { configuration in old.first { $0.identity == configuration.connection } }
        let opened = try await open(zip(configurations, known).filter { $1 == nil }.map(\.0))
        do throws(ExperimentationError) {
            for (configuration, connection) in zip(configurations, known) {
                try await connection?.follow(configuration.move)
            }
        } catch {
            for connection in opened { await connection.close() }
            throw error
        }
        for connection in opened { connection.begin() }
        var new = opened[...]
        let now = environment.time.instant
        let tenants = zip(configurations, known).map { configuration, connection in
            Tenant(configuration, over: connection ?? new.removeFirst(), now: now)
        }
        responder.tenants = TenantDirectory(tenants)
        for tenant in tenants {
            guard let former = before.first(where: { $0.connection === tenant.connection }) else { continue }
            if tenant.mayAnswerOtherwise(than: former) { tenant.connection.changes.announceChange() }
            // After the announcement: a client whose token is still valid learns the stream's address from the next
            // answer.
            if tenant.refusesTokens(of: former) { tenant.connection.changes.hangUp() }
        }
        let needed = tenants.map { ObjectIdentifier($0.connection) }
        for connection in old where !needed.contains(ObjectIdentifier(connection)) {
            retire(connection, isInherited: false)
        }
        // The shutdown may have begun meanwhile, and have reached only the former tenants.
        if readiness.isDraining { drain() }
        if isClosed.load(ordering: .sequentiallyConsistent) { for connection in opened { await connection.close() } }
    }

    /// Opens tenants concurrently, because each may have to wait for a database.
    ///
    /// - Returns: The tenants' connections, in the same order.
    private func open(
        _ configurations: [TenantConfiguration]
    ) async throws(ExperimentationError) -> [TenantConnection] {
        typealias Opened = Result<TenantConnection, ExperimentationError>
        let results = await withTaskGroup(of: (place: Int, opened: Opened).self) { [makeProvider, environment] group in
            for (place, configuration) in configurations.enumerated() {
                group.addTask {
                    do throws(ExperimentationError) {
                        let connection = try await TenantConnection.opened(
                            configuration,
                            provider: try makeProvider(configuration),
                            environment: environment
                        )
                        return (place, .success(connection))
                    } catch {
                        return (place, .failure(error))
                    }
                }
            }
            var results: [(place: Int, opened: Opened)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.place < $1.place }.map(\.opened)
        }
        let connections = results.compactMap { try? $0.get() }
        for case .failure(let error) in results {
            for connection in connections { await connection.close() }
            throw error
        }
        return connections
    }

    /// Shuts down a replaced connection after giving its requests ten seconds, or at once if the gateway has ended.
    func retire(_ connection: TenantConnection, isInherited: Bool) {
        retiring.withLock { $0.append(connection) }
        connection.retire(isInherited: isInherited)
        Task {
            let hasEnded = isClosed.load(ordering: .sequentiallyConsistent)
            if !hasEnded { try? await environment.time.sleep(for: .seconds(10)) }
            await connection.close()
            retiring.withLock { $0.removeAll { $0 === connection } }
        }
    }

    /// Announces the shutdown, and ends every stream.
    func drain() {
        readiness.drain()
        for tenant in responder.tenants.tenants { tenant.connection.changes.finish() }
    }

    /// Closes all connections, including replaced ones that still had time.
    func close() async {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        let connections = responder.tenants.tenants.map(\.connection) + retiring.withLock { $0 }
        await withTaskGroup { group in
            for connection in connections { group.addTask { await connection.close() } }
        }
    }
}
