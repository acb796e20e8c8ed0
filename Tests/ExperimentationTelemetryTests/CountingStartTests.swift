import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import MetricsTestKit
import Testing

@Suite("The time from which events are counted")
struct CountingStartTests {
    private let metrics = TestMetrics()
    private let provider = shop()
    private let user = User(id: "u-1", consent: .granted)

    private var accepted: Int64 {
        let place = ("destination", provider.destination.description)
        return metrics.counterTotal(label: "experimentation.outbox.accepted", dimensions: [place])
    }

    /// Follows in a task that is cancelled before it begins.
    private func followTooLate(_ client: ExperimentationClient, _ telemetry: Telemetry) async {
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await telemetry.follow(client)
        }.value
    }

    private func client(_ telemetry: Telemetry, earlier: Int) async throws -> ExperimentationClient {
        let client = try await ExperimentationClient(provider: provider)
        for _ in 0..<earlier { try await client.track(.custom("earlier"), for: user) }
        return client
    }

    @Test("a follower whose task is already cancelled counts from its call on")
    func cancelled() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let client = try await client(telemetry, earlier: 5)
        await followTooLate(client, telemetry)
        for _ in 0..<3 { try await client.track(.custom("a"), for: user) }
        await client.shutdown()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(accepted == 3)
    }

    @Test("a run that is over before its follower has begun is counted from the start of counting")
    func shortRun() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let client = try await client(telemetry, earlier: 5)
        await telemetry.startCounting(client)
        for _ in 0..<3 { try await client.track(.custom("a"), for: user) }
        await followTooLate(client, telemetry)
        await client.shutdown()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(accepted == 3)
    }

    @Test("a destination that is new in a store since its last measurement counts from its first event")
    func newDestination() async throws {
        let telemetry = Telemetry(metrics: metrics)
        let store = ClientStore.inMemory()
        let former = try await ExperimentationClient(
            provider: InMemoryProvider(name: "former", needsConsent: false),
            store: store
        )
        await telemetry.startCounting(former)
        let client = try await ExperimentationClient(provider: provider, store: store)
        for _ in 0..<3 { try await client.track(.custom("a"), for: user) }
        await telemetry.startCounting(client)
        for client in [former, client] { await client.shutdown() }
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(accepted == 3)
    }
}
