import Experimentation
import ExperimentationTesting
import GatewayWaiting
import Synchronization
import Testing

@testable import GatewayServer

@Suite("A reload during which the gateway shuts down")
struct LateReloadTests {
    /// A vendor that starts when a test lets it.
    private struct SlowVendor: ExperimentationProvider {
        let vendor = Served.publisher()
        private let asked = AsyncStream.makeStream(of: Void.self)
        private let door = AsyncStream.makeStream(of: Void.self)

        var name: String { vendor.name }
        var scope: String { vendor.scope }
        var capabilities: Set<Capability> { vendor.capabilities }

        /// Waits until its start is requested.
        func untilAsked() async { for await _ in asked.stream {} }

        func goOn() { door.continuation.finish() }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            asked.continuation.finish()
            for await _ in door.stream {}
            return try await vendor.start(in: context)
        }
    }

    /// A gateway with one tenant; a second tenant would have the slow vendor.
    private static func gateway(
        _ slow: SlowVendor,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws -> Gateway {
        try await Gateway(
            GatewayConfiguration(tenants: [Served.tenant()]),
            environment: environment
        ) { tenant in tenant.name == "late" ? slow : Served.publisher() as any ExperimentationProvider }
    }

    @Test("connections that it opens are closed")
    func closed() async throws {
        let slow = SlowVendor()
        let gateway = try await Self.gateway(slow)
        let reload = Task { try await gateway.reload([Served.tenant(), Served.tenant("late", token: "more")]) }
        await slow.untilAsked()
        await gateway.close()
        slow.goOn()
        try await reload.value
        for tenant in gateway.responder.tenants.tenants {
            await #expect(throws: ExperimentationError.self, "\(tenant.name)") {
                try await tenant.connection.client.track(.installed, for: User(id: "u", consent: .granted))
            }
        }
        await gateway.close()
    }

    @Test("connections that it replaces are closed at once, not after ten seconds")
    func replaced() async throws {
        let slow = SlowVendor()
        let gateway = try await Self.gateway(slow, environment: ClientEnvironment(time: ManualTime()))
        let reload = Task { try await gateway.reload([Served.tenant("late", token: "more")]) }
        await slow.untilAsked()
        await gateway.close()
        slow.goOn()
        try await reload.value
        try await eventually("the former tenant is closed") { gateway.retiring.withLock(\.isEmpty) }
    }

    @Test("connections that it opens while the gateway drains accept no listeners")
    func drained() async throws {
        let slow = SlowVendor()
        let gateway = try await Self.gateway(slow)
        let reload = Task { try await gateway.reload([Served.tenant(), Served.tenant("late", token: "more")]) }
        await slow.untilAsked()
        gateway.drain()
        slow.goOn()
        try await reload.value
        let listener = ChangeStreams.Listener(tell: { _ in }, end: {})
        #expect(gateway.responder.tenants.tenants.map(\.name) == ["shop", "late"])
        for tenant in gateway.responder.tenants.tenants {
            #expect(tenant.connection.changes.listen(listener) == nil, "\(tenant.name)")
        }
        await gateway.close()
    }
}
