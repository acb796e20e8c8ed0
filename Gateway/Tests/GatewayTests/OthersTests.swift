import Experimentation
import ExperimentationPostgres
import ExperimentationTesting
import Foundation
import GatewayWaiting
import PostgresServers
import Testing

@testable import GatewayServer

/// A vendor that answers no delivery.
private struct SilentVendor: ExperimentationProvider, EventSink {
    let deliveries = Shared(0)
    let name = "silent"
    let scope = ""
    let capabilities: Set<Capability> = [.tracking]
    let batching = BatchPolicy()

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self)
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        deliveries.change { $0 += 1 }
        let (gate, continuation) = AsyncStream.makeStream(of: Void.self)
        // Until the delivery is cancelled.
        for await _ in gate {}
        continuation.finish()
        return DeliveryReport(batch.map { _ in .outage() })
    }
}

@Suite("Events that other instances leave behind")
struct OthersTests {
    /// Accepts an event as an instance would that ends before it delivers.
    private static func leave(_ id: String, to destination: Destination, in schema: String) async throws {
        let server = try PostgresServer.shared
        let store = try await PostgresStore.open(server.url, options: PostgresStoreOptions(schema: schema))
        let date = Date(timeIntervalSinceNow: -3_600)
        let event = Envelope(id: id, identity: Identity(id: "ada"), event: .installed, date: date)
        #expect(try await store.outbox.append([NewEvent(event, to: destination)], now: date) == [nil])
        await store.close()
    }

    @Test("they are delivered although another tenant's vendor doesn't answer")
    func hanging() async throws {
        let (silent, quick) = (SilentVendor(), Served.publisher())
        let schemas = (0..<2).map { _ in "o" + UUID().uuidString.replacing("-", with: "").lowercased() }
        let url = try PostgresServer.shared.url
        for schema in schemas {
            try await PostgresStore.open(url, options: PostgresStoreOptions(schema: schema)).close()
        }
        let tenants = zip(["silent", "quick"], schemas).map { name, schema in
            var tenant = Served.tenant(name, token: name)
            tenant.store = .postgres(SharedDatabase(url: url, schema: schema, lease: .seconds(1)))
            return tenant
        }
        try await Served.run(over: silent, others: ["quick": quick]) {
            $0.tenants = tenants
        } body: { served in
            #expect(served.gateway.responder.tenants.tenants.map(\.connection.isProvisional) == [false, false])
            try await Self.leave("1", to: silent.destination, in: schemas[0])
            try await eventually("the silent vendor is waited for") { silent.deliveries.value > 0 }
            try await Self.leave("2", to: quick.destination, in: schemas[1])
            // Much less than the half minute for which the other one is waited for.
            try await eventually("the event is delivered", within: .seconds(15)) { quick.delivered.count == 1 }
        }
    }
}
