import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import MetricsTestKit
import Testing
import Waiting

@testable import ExperimentationTelemetry

@Suite("The gauge of waiting events")
struct OutboxGaugeTests {
    private let user = User(id: "u-1", consent: .granted)
    private let provider = shop()

    /// A client whose events wait.
    private func client(store: ClientStore, events: Int) async throws -> ExperimentationClient {
        provider.setVerdict { _ in .outage() }
        let client = try await ExperimentationClient(provider: provider, store: store)
        for _ in 0..<events { try await client.track(.custom("a"), for: user) }
        return client
    }

    private func pending(_ metrics: TestMetrics) -> Double? {
        let place = [("destination", provider.destination.description)]
        return metrics.recorders(label: "experimentation.outbox.pending", dimensions: place).last?.lastValue
    }

    @Test("a store that is gone when the metrics backend reads the gauge is reported as it was measured")
    func released() async throws {
        let metrics = BlockedMetrics()
        defer { metrics.gate.open() }
        let telemetry = Telemetry(metrics: metrics)
        telemetry.countMismatches("value")
        weak var gone: (any AnyObject & Sendable)?
        do {
            let client = try await client(store: .inMemory(), events: 1)
            gone = client.ledgersOwner.object
            await telemetry.measure(client)
            try await eventually("the backend blocks") { metrics.gate.comers == 1 }
            await client.shutdown()
        }
        try await eventually("the store is gone, though the backend blocks") { gone == nil }
        metrics.gate.open()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(pending(metrics.base) == 1)
    }

    @Test("a file that two clients opened counts for as long as one of them exists")
    func oneOfTwo() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("events.sqlite")
        let staying = try await client(store: .sqlite(at: file), events: 1)
        await telemetry.measure(staying)
        weak var gone: (any AnyObject & Sendable)?
        do {
            let leaving = try await client(store: .sqlite(at: file), events: 1)
            gone = leaving.ledgersOwner.object
            await telemetry.measure(leaving)
            #expect(await telemetry.flush(within: .seconds(60)))
            #expect(pending(metrics) == 2)
            await leaving.shutdown()
        }
        try await eventually("one of the two is gone") { gone == nil }
        let other = try await client(store: .inMemory(), events: 3)
        await telemetry.measure(other)
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(pending(metrics) == 5)
        for client in [staying, other] { await client.shutdown() }
    }
}
