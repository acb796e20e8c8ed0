import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Logging
import MetricsTestKit
import Synchronization
import Testing
import Waiting

@Suite("Counters of followed clients")
struct LastIntervalTests {
    private func total(_ metrics: TestMetrics, _ name: String, _ provider: InMemoryProvider) -> Int64 {
        let place = ("destination", provider.destination.description)
        return metrics.counterTotal(label: "experimentation.outbox.\(name)", dimensions: [place])
    }

    private func client(
        _ telemetry: Telemetry,
        _ provider: InMemoryProvider = shop(),
        store: ClientStore = .inMemory()
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: provider,
            store: store,
            options: telemetry.added(to: ClientOptions()),
            environment: telemetry.added(to: ClientEnvironment())
        )
    }

    private let user = User(id: "u-1", consent: .granted)

    @Test("two clients with a destination of one name are counted each by itself")
    func twoStores() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let provider = shop()
        let clients = [try await client(telemetry, provider), try await client(telemetry, shop())]
        for (client, count) in zip(clients, [5, 3]) {
            for _ in 0..<count { try await client.track(.custom("a"), for: user) }
        }
        for _ in 0..<3 { for client in clients { await telemetry.measure(client) } }
        await telemetry.flush(within: .seconds(60))
        #expect(total(metrics, "accepted", provider) == 8)
        for client in clients { await client.shutdown() }
    }

    @Test("clients that share a store are counted once")
    func oneStore() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let store = ClientStore.inMemory()
        let provider = shop()
        let clients = [
            try await client(telemetry, provider, store: store),
            try await client(telemetry, InMemoryProvider(name: "other", needsConsent: false), store: store),
        ]
        for client in clients { try await client.track(.custom("a"), for: user) }
        for _ in 0..<3 { for client in clients { await telemetry.measure(client) } }
        await telemetry.flush(within: .seconds(60))
        #expect(total(metrics, "accepted", provider) == 1)
        #expect(metrics.counterTotal(label: "experimentation.outbox.accepted") == 2)
        for client in clients { await client.shutdown() }
    }

    @Test("a log that blocks loses no timer, no gauge and no counter")
    func blockedLog() async throws {
        let metrics = TestMetrics()
        let gate = Gate()
        let telemetry = Telemetry(
            logger: Kept(gate: gate).logger(.info),
            metrics: metrics,
            options: TelemetryOptions(waitingLimit: 4)
        )
        let provider = shop()
        let client = try await client(telemetry, provider)
        _ = client.bool("checkout", default: false, for: user)
        try await eventually("the log holds the first event") { gate.comers == 1 }
        for _ in 0..<20 { _ = client.bool("checkout", default: false, for: user) }
        for _ in 0..<9 { try await client.refresh(force: true) }
        try await client.track(.custom("a"), for: user)
        await telemetry.measure(client)
        try await eventually("everything is measured while the log blocks") {
            let timers = metrics.timers(label: "experimentation.refresh.duration").flatMap(\.values)
            return timers.count >= 9 && total(metrics, "accepted", provider) == 1
                && metrics.recorders(label: "experimentation.refresh.age").count == 1
        }
        gate.open()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(metrics.counterTotal(label: "experimentation.telemetry.dropped") > 0)
        await client.shutdown()
    }
}
