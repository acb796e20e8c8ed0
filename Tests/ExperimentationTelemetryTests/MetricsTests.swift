import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Logging
import MetricsTestKit
import Synchronization
import Testing
import Waiting

@Suite("Metrics")
struct MetricsTests {
    private func total(_ metrics: TestMetrics, _ label: String, _ dimensions: [(String, String)]) -> Int64 {
        metrics.counterTotal(label: label, dimensions: dimensions)
    }

    private func last(_ metrics: TestMetrics, _ label: String, _ dimensions: [(String, String)]) -> Double? {
        metrics.recorders(label: label, dimensions: dimensions).last?.lastValue
    }

    @Test("evaluations by key, variant and reason, and users by variant, are counted exactly")
    func evaluations() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let (client, session) = try await session(telemetry)
        for _ in 0..<5 { _ = session.bool("checkout", default: false) }
        for _ in 0..<2 { _ = session.int("checkout", default: 0) }
        _ = session.bool("nowhere", default: false)
        for number in 0..<100 { _ = client.bool("checkout", default: false, for: User(id: "v-\(number % 50)")) }
        await telemetry.flush()
        await telemetry.flush()
        let of = { (key: String, variant: String, reason: String) in
            [("key", key), ("variant", variant), ("reason", reason)]
        }
        #expect(total(metrics, "feature_flag.evaluations", of("checkout", "on", "static")) == 105)
        #expect(
            total(metrics, "feature_flag.evaluations", of("nowhere", "", "error") + [("error", "flag_not_found")]) == 1
        )
        #expect(metrics.counterTotal(label: "feature_flag.evaluations") == 108)
        #expect(total(metrics, "feature_flag.mismatches", [("key", "checkout")]) == 2)
        #expect(last(metrics, "feature_flag.users", [("key", "checkout"), ("variant", "on")]) == 51)
        await client.shutdown()
    }

    @Test("flags and variations whose names are canonically equivalent are measured separately")
    func equivalentNames() async throws {
        let metrics = KeptCounters()
        let telemetry = Telemetry(metrics: metrics)
        let names = ["e\u{301}", "\u{e9}"]
        let experiments = names.map { name in
            let arms = [InMemoryExperiment.Arm(Variation(id: name), weight: 100, flags: ["flag-of-\(name)": true])]
            return InMemoryExperiment(Experiment(id: name), arms: arms)
        }
        let flags = names.map { InMemoryFlag("flag-of-\($0)", false) }
        let provider = InMemoryProvider(flags: flags, experiments: experiments, needsConsent: false)
        let (client, session) = try await session(telemetry, provider)
        for name in names { #expect(session.bool("flag-of-\(name)", default: false)) }
        await telemetry.flush()
        for label in ["feature_flag.evaluations", "experimentation.exposures"] {
            #expect(metrics.counts(label) == [1, 1], "\(label)")
        }
        await client.shutdown()
    }

    @Test("concurrent reads lose no count")
    func concurrent() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let (client, session) = try await session(telemetry)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<5_000 { _ = session.bool("checkout", default: false) } }
            }
        }
        await telemetry.flush()
        #expect(metrics.counterTotal(label: "feature_flag.evaluations") == 20_000)
        await client.shutdown()
    }

    @Test("flags beyond the limit are counted together")
    func cardinality() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics, options: TelemetryOptions(seriesLimit: 80))
        let (client, session) = try await session(telemetry)
        for number in 0..<10_000 { _ = session.bool("made-up-\(number)", default: false) }
        await telemetry.flush()
        #expect(metrics.counters(label: "feature_flag.evaluations").count == 81)
        #expect(metrics.counterTotal(label: "feature_flag.evaluations") == 10_000)
        await client.shutdown()
    }

    @Test("waiting, delivered and dropped events are measured by destination and reason; earlier ones aren't counted")
    func outbox() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let provider = shop()
        provider.setVerdict { envelope in
            if case .custom("bad", _) = envelope.event.kind { .rejected("no") } else { .delivered }
        }
        let (client, session) = try await session(telemetry, provider)
        let place = [("destination", provider.destination.description)]
        await telemetry.measure(client)
        for name in ["a", "bad", "b"] { try await session.track(.custom(name)) }
        await telemetry.measure(client)
        await telemetry.flush()
        #expect(last(metrics, "experimentation.outbox.pending", place) == 3)
        try await client.flush()
        await telemetry.measure(client)
        await telemetry.measure(client)
        await telemetry.flush()
        #expect(last(metrics, "experimentation.outbox.pending", place) == 0)
        #expect(total(metrics, "experimentation.outbox.accepted", place) == 3)
        #expect(total(metrics, "experimentation.outbox.delivered", place) == 2)
        #expect(total(metrics, "experimentation.outbox.dropped", place + [("reason", "rejected")]) == 1)
        await client.shutdown()
    }

    @Test("durations and outcomes of refreshes and deliveries are measured, and the age of the last good answer")
    func operations() async throws {
        let metrics = TestMetrics()
        let time = ManualTime()
        let telemetry = Telemetry(metrics: metrics, time: time)
        let provider = shop()
        let (client, session) = try await session(telemetry, provider, time: time)
        provider.setFailure(ExperimentationError(.timeout, "late"))
        time.advance(by: .seconds(90))
        try? await session.refresh(force: true)
        try await session.track(.custom("a"))
        try await client.flush()
        await telemetry.measure(client)
        async let flushed = telemetry.flush()
        try await eventually("the age is told") {
            last(metrics, "experimentation.refresh.age", [("provider", "in-memory")]) == 90
        }
        _ = await flushed
        let refreshes = metrics.timers(label: "experimentation.refresh.duration")
        #expect(
            refreshes.map { timer in timer.dimensions.map { $0.1 }.joined(separator: "/") }.sorted() == [
                "in-memory/ok", "in-memory/timeout",
            ]
        )
        #expect(metrics.timers(label: "experimentation.delivery.duration").flatMap(\.values).count == 1)
        await client.shutdown()
    }

    @Test("exposures are counted by experiment and variation, mismatches by kind")
    func exposuresAndMismatches() async throws {
        let metrics = TestMetrics()
        let telemetry = Telemetry(metrics: metrics)
        let (client, session) = try await session(telemetry)
        for _ in 0..<3 { _ = session.string("color", default: "") }
        telemetry.countMismatches("value", 4)
        telemetry.countMismatches("late")
        for kind in ["value", "late"] { telemetry.countMismatches(kind, -1) }
        await telemetry.flush()
        #expect(
            total(metrics, "experimentation.exposures", [("experiment", "exp-1"), ("variation", "b")]) == 1
        )
        #expect(total(metrics, "experimentation.mismatches", [("kind", "value")]) == 4)
        #expect(total(metrics, "experimentation.mismatches", [("kind", "late")]) == 1)
        await client.shutdown()
    }

    @Test("a log that blocks loses no count of evaluations, exposures and mismatches")
    func blockedLog() async throws {
        let metrics = TestMetrics()
        let gate = Gate()
        let telemetry = Telemetry(
            logger: Kept(gate: gate).logger(.info),
            metrics: metrics,
            options: TelemetryOptions(waitingLimit: 10)
        )
        let (client, session) = try await session(telemetry)
        _ = session.bool("checkout", default: false)
        try await eventually("the log holds the first event") { gate.comers == 1 }
        for _ in 0..<100 { _ = session.bool("checkout", default: false) }
        for number in 0..<50 {
            _ = client.string("color", default: "", for: User(id: "v-\(number)", consent: .granted))
        }
        for _ in 0..<30 { telemetry.countMismatches("value", 2) }
        gate.open()
        #expect(await telemetry.flush(within: .seconds(60)))
        #expect(metrics.counterTotal(label: "feature_flag.evaluations") == 151)
        #expect(total(metrics, "experimentation.exposures", [("experiment", "exp-1"), ("variation", "b")]) == 50)
        #expect(total(metrics, "experimentation.mismatches", [("kind", "value")]) == 60)
        await client.shutdown()
    }

    @Test("following measures at once, after each interval, and ends with its task")
    func following() async throws {
        let metrics = TestMetrics()
        let time = ManualTime()
        let telemetry = Telemetry(metrics: metrics, options: TelemetryOptions(interval: .seconds(15)), time: time)
        let (client, session) = try await session(telemetry)
        let task = Task { await telemetry.follow(client) }
        await time.waitForSleepers(1)
        for _ in 0..<7 { _ = session.bool("checkout", default: false) }
        time.advance(by: .seconds(15))
        await time.waitForSleepers(1)
        try await eventually("the evaluations are counted") {
            metrics.counterTotal(label: "feature_flag.evaluations") == 7
        }
        task.cancel()
        await task.value
        await client.shutdown()
    }

    @Test("events accepted before following aren't counted, even if the store fails the first measurement")
    func failedBaseline() async throws {
        let metrics = TestMetrics()
        let time = ManualTime()
        let telemetry = Telemetry(metrics: metrics, options: TelemetryOptions(interval: .seconds(15)), time: time)
        let provider = shop()
        let place = [("destination", provider.destination.description)]
        let memory = ClientStore.inMemory()
        let outbox = FailingOnce(base: memory.outbox)
        let client = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: outbox, state: memory.state),
            options: telemetry.added(to: ClientOptions()),
            environment: telemetry.added(to: ClientEnvironment(time: time))
        )
        let user = User(id: "u-1", consent: .granted)
        for name in ["a", "b", "c"] { try await client.track(.custom(name), for: user) }
        outbox.fail()
        let task = Task { await telemetry.follow(client) }
        try await eventually("the first measurement has failed and another one was recorded") {
            time.advance(by: .seconds(15))
            return !outbox.isFailing && last(metrics, "experimentation.outbox.pending", place) != nil
        }
        #expect(total(metrics, "experimentation.outbox.accepted", place) == 0)
        try await client.track(.custom("d"), for: user)
        try await eventually("the later event is counted") {
            time.advance(by: .seconds(15))
            return total(metrics, "experimentation.outbox.accepted", place) > 0
        }
        #expect(total(metrics, "experimentation.outbox.accepted", place) == 1)
        task.cancel()
        await task.value
        await client.shutdown()
    }
}

/// An outbox that, on request, fails the next query for its destinations.
private final class FailingOnce: OutboxStoreDecorator {
    let base: any OutboxStore
    private let failing = Atomic(false)

    init(base: any OutboxStore) { self.base = base }

    var isFailing: Bool { failing.load(ordering: .relaxed) }

    func fail() { failing.store(true, ordering: .relaxed) }

    func destinations() async throws(ExperimentationError) -> [Destination] {
        if failing.exchange(false, ordering: .relaxed) { throw ExperimentationError(.store, "fails once") }
        return try await base.destinations()
    }
}
