import Experimentation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

extension Gateway {
    /// The services to run, in starting order; they stop in reverse.
    ///
    /// On shutdown `/ready` fails immediately, streams end, and every answer closes its connection; after
    /// ``GatewayConfiguration/drain`` no new requests are accepted and running ones are finished; then the tenants
    /// deliver what they can.
    ///
    /// - Parameters:
    ///   - logger: Receives the server's own messages.
    ///   - running: Called with the address once the server listens.
    /// - Returns: The services.
    public func services(
        logger: Logger = Logger(label: "xp-gateway") { _ in SwiftLogNoOpLogHandler() },
        running: @escaping @Sendable (_ address: String) async -> Void
    ) -> [any Service] {
        let responder = responder
        let host = configuration.host
        let isEncrypted = certificate != nil
        let channel = GatewayChannel(
            limits: configuration.limits,
            forms: AnswerForms(),
            routes: responder,
            certificate: certificate,
            responder: { request, writer, _ in try await responder.respond(request, writer) }
        )
        let server = channel.server(
            configuration: ServerConfiguration(
                address: .hostname(host, port: configuration.port),
                backlog: 1_024,
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.limits.connections)
            ),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                await running("\(isEncrypted ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)")
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        return [
            TenantClosing(gateway: self), server, Beating(responder: responder, time: environment.time),
            LookingAfterOthers(responder: responder, time: environment.time), Opening(gateway: self),
            ForgettingIDs(gateway: self),
            FetchingMissingRules(responder: responder, time: environment.time),
            HeapTrimming(
                forms: { responder.tenants.tenants.map(\.evaluator.knownForms) },
                time: environment.time
            ),
            Draining(gateway: self),
        ]
    }
}

/// Closes the tenants after the server has stopped.
private struct TenantClosing: Service {
    let gateway: Gateway

    func run() async throws {
        try? await gracefulShutdown()
        await gateway.close()
    }
}

/// Sends heartbeats on idle streams.
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

/// Delivers events left behind by instances that are gone.
private struct LookingAfterOthers: Service {
    let responder: Responder
    let time: any TimeSource

    private static let interval = Duration.seconds(1)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // One group for all rounds, so that a vendor that hangs holds up no other tenant.
            await withDiscardingTaskGroup { group in
                while (try? await time.sleep(for: Self.interval)) != nil {
                    let now = time.now
                    for tenant in responder.tenants.tenants {
                        group.addTask { await tenant.connection.lookAfterOthers(now: now) }
                    }
                }
                group.cancelAll()
            }
        }
    }
}

/// Deletes the ids of events of past days.
private struct ForgettingIDs: Service {
    let gateway: Gateway

    private static let interval = Duration.seconds(60)

    func run() async throws {
        let environment = gateway.environment
        await cancelWhenGracefulShutdown {
            while (try? await environment.time.sleep(for: Self.interval)) != nil {
                for tenant in gateway.responder.tenants.tenants {
                    do throws(ExperimentationError) { try await tenant.connection.forgetIDs() } catch {
                        if error.code == .cancelled { return }
                        environment.log.log(
                            .warning,
                            "events.ids",
                            "Ids of events of \(tenant.name) can't be deleted yet: \(error)"
                        )
                    }
                }
            }
        }
    }
}

/// Fetches rules for tenants that have none because their vendor was away at the first request, and for those whose
/// rules have a lifetime and couldn't be fetched at the end of it.
///
/// No request does this: an instance that isn't ready gets none, and one with older rules answers from them at once.
private struct FetchingMissingRules: Service {
    let responder: Responder
    let time: any TimeSource

    private static let interval = Duration.seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // One group for all rounds, so that a vendor that hangs holds up no other.
            await withDiscardingTaskGroup { group in
                while (try? await time.sleep(for: Self.interval)) != nil {
                    for tenant in responder.tenants.tenants where tenant.connection.facts.isComputed {
                        let (client, facts) = (tenant.connection.client, tenant.connection.facts)
                        let isOld = facts.isRenewed && client.status == .stale
                        guard isOld || !tenant.isReady else { continue }
                        group.addTask { try? await client.refresh(force: isOld) }
                    }
                }
                group.cancelAll()
            }
        }
    }
}

/// Switches to shared databases that were away at the start.
private struct Opening: Service {
    let gateway: Gateway

    private static let interval = Duration.seconds(1)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await gateway.environment.time.sleep(for: Self.interval)) != nil { gateway.openWaiting() }
        }
    }
}

/// Stops first: announces the shutdown, and gives load balancers time to notice.
private struct Draining: Service {
    let gateway: Gateway

    func run() async throws {
        try? await gracefulShutdown()
        gateway.drain()
        try? await gateway.environment.time.sleep(for: gateway.configuration.drain)
    }
}
