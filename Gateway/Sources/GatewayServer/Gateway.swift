import Experimentation
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The gateway: tenants behind one address that speaks OFREP.
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
    private let configuration: GatewayConfiguration
    private let environment: ClientEnvironment
    private let responder: Responder
    private let readiness = Readiness()

    /// Opens every tenant, without waiting for any vendor.
    ///
    /// - Parameters:
    ///   - configuration: Tenants, address and limits.
    ///   - variables: The environment variables that secrets may name.
    ///   - environment: Time, chance and a place for messages.
    /// - Throws: `ErrorCode.configuration` and `ErrorCode.store`.
    public init(
        _ configuration: GatewayConfiguration,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) {
        self.configuration = configuration
        self.environment = environment
        var tenants: [Tenant] = []
        for tenant in configuration.tenants {
            tenants.append(try await Tenant(tenant, variables: variables, environment: environment))
        }
        responder = Responder(
            tenants: TenantDirectory(tenants),
            readiness: readiness,
            counters: Counters(),
            crossOrigin: CrossOrigin(configuration.origins),
            limits: configuration.limits,
            time: environment.time
        )
    }

    /// What to run, in the order of starting; they end in the opposite one.
    ///
    /// On shutdown `/ready` says no at once and every answer is the last of its connection; after
    /// ``GatewayConfiguration/drain`` nothing new is taken and what is under way is finished; then the tenants deliver what
    /// they can.
    ///
    /// - Parameters:
    ///   - logger: Where the server's own messages go.
    ///   - running: Told the address once it is listened on.
    public func services(
        logger: Logger = Logger(label: "xp-gateway") { _ in SwiftLogNoOpLogHandler() },
        running: @escaping @Sendable (_ address: String) async -> Void
    ) throws -> [any Service] {
        let (responder, limits) = (responder, configuration.limits)
        let host = configuration.host
        let channel = GatewayChannel(limits: limits, forms: AnswerForms()) { request, writer, _ in
            try await responder.respond(request, writer)
        }
        let server = channel.server(
            configuration: ServerConfiguration(
                address: .hostname(host, port: configuration.port),
                backlog: 1_024
            ),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                await running("http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        return [
            TenantClosing(responder: responder), server,
            Draining(readiness: readiness, duration: configuration.drain, time: environment.time),
        ]
    }
}

/// Keeps the tenants open until the server has ended.
private struct TenantClosing: Service {
    let responder: Responder

    func run() async throws {
        try? await gracefulShutdown()
        await withTaskGroup { group in
            for tenant in responder.tenants.withLock({ $0.tenants }) {
                group.addTask { await tenant.client.shutdown() }
            }
        }
    }
}

/// Ends first: says that nothing more should come, and leaves time for that to be heard.
private struct Draining: Service {
    let readiness: Readiness
    let duration: Duration
    let time: any TimeSource

    func run() async throws {
        try? await gracefulShutdown()
        readiness.drain()
        try? await time.sleep(for: duration)
    }
}
