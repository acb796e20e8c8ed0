import Experimentation
import ExperimentationTesting
import Logging
import ServiceLifecycle
import Tracing

@testable import GatewayServer

/// A gateway that is served on a free port, over a provider in memory.
struct Served: Sendable {
    let gateway: Gateway
    let provider: InMemoryProvider
    let wire: Wire
    /// Asks the gateway to end, as a signal would.
    let shutDown: @Sendable () async -> Void

    /// The client of the first tenant.
    var client: ExperimentationClient { gateway.responder.tenants.tenants[0].connection.client }

    /// A tenant of a test, with the token `t0ken`.
    static func tenant(_ name: String = "shop", token: String = "t0ken") -> TenantConfiguration {
        TenantConfiguration(
            name: name,
            tokens: [TokenDigest(of: token)],
            vendor: ["vendor": .string(name)],
            vendorFile: "test",
            store: .memory
        )
    }

    /// Serves a provider in memory while `body` runs, and ends in order.
    static func run<Value: Sendable>(
        _ provider: InMemoryProvider = Self.publisher(),
        tracer: (any Tracer)? = nil,
        _ change: (inout GatewayConfiguration) -> Void = { _ in },
        body: @escaping @Sendable (Served) async throws -> Value
    ) async throws -> Value {
        try await run(over: provider, provider, tracer: tracer, change, body: body)
    }

    /// Serves any provider while `body` runs, and ends in order; `others` are those of tenants that have one of their own.
    static func run<Value: Sendable>(
        over vendor: any ExperimentationProvider,
        _ provider: InMemoryProvider = InMemoryProvider(),
        others: [String: InMemoryProvider] = [:],
        time: any TimeSource = SystemTime(),
        tracer: (any Tracer)? = nil,
        _ change: (inout GatewayConfiguration) -> Void = { _ in },
        body: @escaping @Sendable (Served) async throws -> Value
    ) async throws -> Value {
        var configuration = GatewayConfiguration(tenants: [tenant()])
        configuration.operatorTokens = [TokenDigest(of: "0perator")]
        configuration.drain = .zero
        change(&configuration)
        let gateway = try await Gateway(configuration, environment: ClientEnvironment(time: time), tracer: tracer) {
            tenant in
            others[tenant.name] ?? vendor
        }
        let (addresses, announced) = AsyncStream.makeStream(of: String.self)
        let services = gateway.services { address in announced.yield(address) }
        let group = ServiceGroup(services: services, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = addresses.makeAsyncIterator()
            let address = await iterator.next() ?? ""
            let port = address.split(separator: ":").last.flatMap { Int($0) } ?? 0
            let served = Served(gateway: gateway, provider: provider, wire: Wire(port: port)) {
                await group.triggerGracefulShutdown()
            }
            let result: Result<Value, any Error>
            do { result = .success(try await body(served)) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }

    /// A vendor whose rules are valid for so long after they were fetched; for nothing if zero, so that each request asks.
    static func publisher(validFor lifetime: Duration = .seconds(3_600)) -> InMemoryProvider {
        InMemoryProvider(
            flags: flags,
            freshness: Freshness(lifetime: lifetime > .zero ? lifetime : nil),
            // Accepted events wait, however busy the machine is, until a test has looked.
            batching: BatchPolicy(count: 1_000, interval: .seconds(3_600))
        )
    }

    /// A flag of each type.
    static let flags = [
        InMemoryFlag("bool", true), InMemoryFlag("text", "green"), InMemoryFlag("whole", 7),
        InMemoryFlag("float", 10.0), InMemoryFlag("fraction", 0.25), InMemoryFlag("object", ["a": [1, 2]]),
        InMemoryFlag("a/b", "slash"), InMemoryFlag("a b", "space"), InMemoryFlag("é", "letter"),
        InMemoryFlag("none", variants: ["left": .null], defaultVariant: "left"),
        InMemoryFlag(
            "plan",
            variants: ["small": 10, "large": 12.5],
            defaultVariant: "small",
            target: { $0["plan"]?.stringValue == "pro" ? "large" : nil }
        ),
    ]
}
