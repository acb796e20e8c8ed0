import Experimentation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

extension Gateway {
    /// What to run, in the order of starting; they end in the opposite one.
    ///
    /// On shutdown `/ready` says no at once, streams end, and every answer is the last of its connection; after
    /// ``GatewayConfiguration/drain`` nothing new is taken and what is under way is finished; then the tenants deliver what
    /// they can.
    ///
    /// - Parameters:
    ///   - logger: Where the server's own messages go.
    ///   - running: Told the address once it is listened on.
    public func services(
        logger: Logger = Logger(label: "xp-gateway") { _ in SwiftLogNoOpLogHandler() },
        running: @escaping @Sendable (_ address: String) async -> Void
    ) -> [any Service] {
        let responder = responder
        let host = configuration.host
        let channel = GatewayChannel(limits: configuration.limits, forms: AnswerForms()) { request, writer, _ in
            try await responder.respond(request, writer)
        }
        let server = channel.server(
            configuration: ServerConfiguration(
                address: .hostname(host, port: configuration.port),
                backlog: 1_024,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.limits.connections)
            ),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                await running("http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        return [
            TenantClosing(responder: responder), server, Beating(responder: responder, time: environment.time),
            LookingAfterOthers(responder: responder, time: environment.time),
            Draining(responder: responder, readiness: readiness, wait: configuration.drain, time: environment.time),
        ]
    }
}

/// Keeps the tenants open until the server has ended.
private struct TenantClosing: Service {
    let responder: Responder

    func run() async throws {
        try? await gracefulShutdown()
        await withTaskGroup { group in
            for tenant in responder.tenants.tenants { group.addTask { await tenant.connection.close() } }
        }
    }
}

/// Keeps streams alive while nothing happens.
private struct Beating: Service {
    let responder: Responder
    let time: any TimeSource

    private static let interval = Duration.seconds(25)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await time.sleep(for: Self.interval)) != nil {
                for tenant in responder.tenants.tenants { tenant.connection.changes.beat() }
            }
        }
    }
}

/// Delivers what an instance has left that is gone.
private struct LookingAfterOthers: Service {
    let responder: Responder
    let time: any TimeSource

    private static let interval = Duration.seconds(1)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await time.sleep(for: Self.interval)) != nil {
                for tenant in responder.tenants.tenants { await tenant.connection.lookAfterOthers(now: time.now) }
            }
        }
    }
}

/// Ends first: says that nothing more should come, and leaves time for that to be heard.
private struct Draining: Service {
    let responder: Responder
    let readiness: Readiness
    let wait: Duration
    let time: any TimeSource

    func run() async throws {
        try? await gracefulShutdown()
        readiness.drain()
        for tenant in responder.tenants.tenants { tenant.connection.changes.finish() }
        try? await time.sleep(for: wait)
    }
}
