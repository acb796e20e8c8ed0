import Experimentation
import ExperimentationTesting
import Logging
import MetricsTestKit
import Testing
import Waiting

@testable import ExperimentationTelemetry

@Suite("Events that the log drops")
struct DroppedEventsTests {
    @Test("are all counted, even while the metrics backend blocks and its queue is full")
    func counted() async throws {
        let metrics = BlockedMetrics()
        let gate = Gate()
        defer { for gate in [metrics.gate, gate] { gate.open() } }
        let telemetry = Telemetry(
            logger: Kept(gate: gate).logger(.info),
            metrics: metrics,
            options: TelemetryOptions(waitingLimit: 2)
        )
        let (client, session) = try await session(telemetry)
        telemetry.countMismatches("value")
        await telemetry.measure(client)
        try await eventually("the metrics backend blocks") { metrics.gate.comers == 1 }
        _ = session.bool("checkout", default: false)
        try await eventually("the log holds the first event") { gate.comers == 1 }
        for _ in 0..<22 { _ = session.bool("checkout", default: false) }
        // Each is two measurements, and one may wait already.
        for _ in 0..<Telemetry.mostMeasurements / 2 { await telemetry.measure(client) }
        gate.open()
        try await eventually("the log has told of what was dropped") { gate.comers == 4 }
        metrics.gate.open()
        #expect(await telemetry.flush(within: .seconds(60)))
        let lost = metrics.base.counterTotal(label: "experimentation.telemetry.dropped")
        #expect((20...22).contains(lost))
        await client.shutdown()
    }

    @Test("a flush is measured even while the metrics backend blocks and its queue is full")
    func flushed() async throws {
        let metrics = BlockedMetrics()
        defer { metrics.gate.open() }
        let time = ManualTime()
        let telemetry = Telemetry(metrics: metrics, time: time)
        let (client, _) = try await session(telemetry)
        await telemetry.startCounting(client)
        telemetry.countMismatches("value")
        await telemetry.measure(client)
        try await eventually("the metrics backend blocks") { metrics.gate.comers == 1 }
        // Each is two measurements, and one may wait already.
        for _ in 0..<Telemetry.mostMeasurements / 2 { await telemetry.measure(client) }
        try await client.track(.custom("a"), for: User(id: "u-1", consent: .granted))
        async let isDone = telemetry.flush(within: .seconds(60))
        await time.waitForSleepers(1)
        await time.settle()
        metrics.gate.open()
        #expect(await isDone)
        #expect(metrics.base.counterTotal(label: "experimentation.outbox.accepted") == 1)
        await client.shutdown()
    }
}
