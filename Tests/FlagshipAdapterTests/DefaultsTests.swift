import AdapterKit
import Experimentation
import ExperimentationTesting
import MockVendors
import Testing

@testable import FlagshipAdapter

/// The defaults of the vendor's reference, each tested by its effect on an application.
@Suite("Flagship: defaults")
struct DefaultsTests {
    @Test("every default is the vendor reference's, except for reports")
    func reference() async throws {
        let bench = try await Bench()
        let options = FlagshipOptions()
        let tracking = FlagshipOptions.Tracking()
        let caches = FlagshipCaches()
        let flagship = await Flagship.start(
            environmentID: Bench.environmentID,
            apiKey: Secret(Bench.apiKey),
            store: bench.store,
            transport: bench.transport,
            environment: bench.environment
        )
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        let isShared = flagship.sharedVisitor === visitor
        await visitor.fetchFlags()
        _ = visitor.flag("cta").value(default: "none")
        try await flagship.client?.flush()
        let item = FlagshipHit.item(transactionID: "t", name: "n", code: "c")
        let table: [(String, String, String)] = [
            ("mode", options.mode.rawValue, "decisionAPI"),
            ("withTimeout, milliseconds", "\(options.timeout / .milliseconds(1))", "2000.0"),
            (
                "the timeout of a question on its way", "\(bench.transport.exchanges("campaigns")[0].limits.deadline)",
                "2.0 seconds"
            ),
            (
                "the timeout of other requests", "\(bench.transport.exchanges("activate")[0].limits.deadline)",
                "60.0 seconds"
            ),
            ("withBucketingPollingIntervals, seconds", "\(options.pollingInterval / .seconds(1))", "60.0"),
            ("withLogLevel", "\(options.logLevel)", "all"),
            ("poolMaxSize", "\(tracking.poolMaxSize)", "10"),
            ("batchIntervalTimer, seconds", "\(tracking.batchInterval / .seconds(1))", "5.0"),
            ("strategy", tracking.strategy.rawValue, "CONTINUOUS_CACHING"),
            ("limit of a batch, bytes", "\(flagship.service?.configuration.batching.bytes ?? 0)", "2500000"),
            ("oldest hit, seconds", "\(FlagshipConfiguration.oldestHit / .seconds(1))", "14400.0"),
            ("visitorLookupTimeOut, seconds", "\(caches.visitorLookupTimeout / .seconds(1))", "0.2"),
            ("hitCacheLookupTimeout, seconds", "\(caches.hitLookupTimeout / .seconds(1))", "0.2"),
            ("caches of one's own", "\(caches.visitors == nil && caches.hits == nil)", "true"),
            ("withDisableDeveloperUsageTracking: off here, on there", "\(options.reports == [])", "true"),
            ("withOnSdkStatusChanged", "\(options.onStatusChanged == nil)", "true"),
            ("withOnVisitorExposed", "\(options.onVisitorExposed == nil)", "true"),
            ("instanceType", "\(isShared)", "true"),
            ("isAuthenticated", "\(visitor.isAuthenticated)", "false"),
            (
                "context beside the automatic keys",
                "\(visitor.context().keys.filter { !$0.hasPrefix("sdk_") && !$0.hasPrefix("fs_") })", "[]"
            ),
            ("value(visitorExposed:)", "\(bench.transport.exchanges("activate").count)", "1"),
            ("exposurePolicy: once here, every read there", options.exposurePolicy.rawValue, "oncePerSession"),
            ("price and quantity of an item", "\(item.fields["ip"] ?? .null) \(item.fields["iq"] ?? .null)", "0.0 0"),
        ]
        for (name, found, expected) in table { #expect(found == expected, "\(name)") }
        await flagship.close(within: .zero)
    }
}
