import BenchmarkHarness
import CoreMetrics
import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Foundation
import Logging

/// Measures the cost of telemetry for a read: without hooks, with log events disabled or enabled, and with counts.
@main
enum TelemetryCosts {
    static let operations = 200_000
    static let keys = (0..<1_000).map { "checkout.experiment.flag-number-" + String(format: "%d", $0) }

    static func main() async throws {
        var table = Table("Telemetry around session.details, 1,000 flags")
        var quiet = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        quiet.logLevel = .error
        var loud = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        loud.logLevel = .info
        let bare = try await cost(nil)
        table.add("without telemetry", bare.nanoseconds, unit: "ns")
        table.add("  allocations", bare.allocations, atMost: 0, unit: "")
        let none = try await cost(Telemetry())
        table.add("telemetry with nothing in it", none.nanoseconds, unit: "ns")
        table.add("  over none at all", none.nanoseconds - bare.nanoseconds, atMost: 5, unit: "ns")
        let off = try await cost(Telemetry(logger: quiet))
        table.add("events, their level off", off.nanoseconds, atMost: 300, unit: "ns")
        table.add("  allocations", off.allocations, atMost: 0, unit: "")
        let on = try await cost(Telemetry(logger: loud))
        table.add("events, their level on", on.nanoseconds, atMost: 300, unit: "ns")
        let counts = try await cost(Telemetry(metrics: NOOPMetricsHandler.instance))
        table.add("counts by key, variant and reason, and users", counts.nanoseconds, atMost: 400, unit: "ns")
        table.add("  allocations", counts.allocations, atMost: 0, unit: "")
        if table.missedBars > 0 { print("\n\(table.missedBars) bars missed") }
    }

    /// Measures a read with telemetry.
    static func cost(_ telemetry: Telemetry?) async throws -> Cost {
        let flags = keys.map { InMemoryFlag($0, variants: ["on": true, "off": false], defaultVariant: "on") }
        let client = try await ExperimentationClient(
            provider: InMemoryProvider(flags: flags, needsConsent: false),
            options: telemetry?.added(to: ClientOptions()) ?? ClientOptions()
        )
        let session = client.session(for: User(id: "0b8a2f0e-5d2b-4f27-9d3c-6a2f9d0f8e11", consent: .granted))
        try await session.refresh()
        for key in keys { _ = session.details(key, default: false) }
        let cost = Cost.of(operations) { count in
            for index in 0..<count { consume(session.details(keys[index % keys.count], default: false).value) }
        }
        await telemetry?.flush()
        await client.shutdown()
        return cost
    }
}
