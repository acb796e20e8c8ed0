public import CoreMetrics
public import Experimentation
public import Logging
import Synchronization
public import Tracing

/// Events, metrics and spans about flags, named by OpenTelemetry's conventions.
///
/// ```swift
/// let telemetry = Telemetry(logger: logger, metrics: factory, tracer: tracer)
/// let client = try await ExperimentationClient(
///     provider: provider,
///     options: telemetry.added(to: ClientOptions()),
///     environment: telemetry.added(to: ClientEnvironment())
/// )
/// async let following: Void = telemetry.follow(client)
/// ```
///
/// Reads never wait for it: events are queued and written on a separate thread, measurements on another, so that a
/// backend may block or fail, and counts stay in memory until ``follow(_:)`` or ``flush(within:)`` passes them on.
public final class Telemetry: Sendable {
    /// The name of an exposure event.
    public static let exposureEvent = "experimentation.exposure"

    private let logger: Logger?
    private let tracer: (any Tracer)?
    let meters: Meters?
    private let options: TelemetryOptions
    private let time: any TimeSource
    private let relay: Relay<TelemetryItem>
    private let measurements: Relay<MetricRecord>
    private let tallies: Tallies?
    private let freshness = LastRefreshes()
    private let followed = FollowedClients()

    /// The most measurements that wait for a metrics backend that blocks: those of some minutes of heavy traffic.
    static let mostMeasurements = 16_384

    /// Creates telemetry; leave out the parameters of signals that you don't want.
    ///
    /// - Parameters:
    ///   - logger: The logger for events.
    ///   - metrics: The factory of counters, recorders and timers.
    ///   - tracer: The tracer for spans.
    ///   - options: What is reported, and how users appear.
    ///   - time: The clock for durations and ages.
    public init(
        logger: Logger? = nil,
        metrics: (any MetricsFactory)? = nil,
        tracer: (any Tracer)? = nil,
        options: TelemetryOptions = TelemetryOptions(),
        time: any TimeSource = SystemTime()
    ) {
        self.logger = logger
        self.tracer = tracer
        self.options = options
        self.time = time
        let meters = metrics.map { Meters($0) }
        self.meters = meters
        tallies = meters.map { Tallies(for: $0, options) }
        let measurements = Relay<MetricRecord>(limit: Self.mostMeasurements) { measurements, dropped in
            for measure in measurements { measure() }
            if dropped > 0 { meters?.dropped(dropped) }
        }
        self.measurements = measurements
        let writer = EventWriter(logger: logger, options: options) { [tallies] dropped in
            tallies?.drops.add(.log, dropped)
        }
        relay = Relay(limit: options.waitingLimit) { writer.write($0, dropped: $1) }
    }

    // MARK: Installing

    /// The hooks: a log event for each evaluation if there is a logger, counts if there is a metrics factory.
    public var hooks: [any Hook] {
        var hooks: [any Hook] = []
        if let logger { hooks.append(EvaluationEvents(logger: logger, level: options.evaluationLevel, relay: relay)) }
        if let tallies { hooks.append(EvaluationCounts(tally: tallies.evaluations)) }
        return hooks
    }

    /// The observer of refreshes, deliveries and requests; `nil` without tracer and metrics.
    public var operations: (any OperationObserver)? {
        guard tracer != nil || meters != nil else { return nil }
        return OperationSpans(
            tracer: tracer,
            meters: meters,
            measurements: measurements,
            freshness: freshness,
            propagation: options.propagation,
            time: time
        )
    }

    private var exposureObservers: [any ExposureObserver] {
        var observers: [any ExposureObserver] = []
        if let logger { observers.append(ExposureEvents(logger: logger, level: options.exposureLevel, relay: relay)) }
        if let tallies { observers.append(ExposureCounts(tally: tallies.exposures)) }
        return observers
    }

    /// Returns options with the hooks and the exposure observers added.
    public func added(to options: ClientOptions) -> ClientOptions {
        var options = options
        options.hooks += hooks
        options.exposureObservers += exposureObservers
        return options
    }

    /// Returns an environment with the operation observer and, if it has no log, the logger as its log.
    ///
    /// An observer that the environment already has stays, around this one. Of two header fields with the same name,
    /// this one's counts.
    public func added(to environment: ClientEnvironment) -> ClientEnvironment {
        var environment = environment
        if let operations {
            environment.operations = environment.operations.map { NestedObservers($0, operations) } ?? operations
        }
        if let logger, environment.log is NoLog { environment.log = LoggerSink(logger) }
        return environment
    }

    // MARK: Measuring

    /// Measures a client until the task is cancelled: evaluations, waiting events by destination, the age of answers.
    ///
    /// Events in the outbox are counted from this call on, or from the last measurement of their store if there was one;
    /// evaluations, exposures and mismatches from the beginning. A task makes this call later than the line that creates
    /// the task: if events may be accepted before, call ``startCounting(_:)`` first. What happens between the last
    /// measurement and the client's end is counted by ``flush(within:)``. Clients that share a store are counted once.
    ///
    /// It ends once the store has answered: a store carries out what it was asked to do, cancelled or not.
    public func follow(_ client: ExperimentationClient) async {
        let baseline = followed.add(client)
        await start(client, baseline)
        while !Task.isCancelled {
            do { try await time.sleep(for: options.interval) } catch { break }
            await measure(client, from: baseline)
        }
    }

    /// Counts the events in a client's outbox from this call on, as ``follow(_:)`` does, but measures them again only
    /// in ``flush(within:)``.
    public func startCounting(_ client: ExperimentationClient) async { await start(client, followed.add(client)) }

    private func start(_ client: ExperimentationClient, _ baseline: Baseline) async {
        // Runs in a task of its own: a cancelled one wouldn't wait for its turn, and nothing would show later where
        // counting began.
        await Task { await measure(client, from: baseline) }.value
    }

    /// Measures a client once.
    ///
    /// - Parameter client: The client. Ledgers that weren't measured before count from zero.
    public func measure(_ client: ExperimentationClient) async { await measure(client, from: nil) }

    private func measure(_ client: ExperimentationClient, from baseline: Baseline?) async {
        guard meters != nil else { return }
        // Queued first, because a store may not answer.
        measurements.put(present())
        await measureLedgers(of: client, from: baseline) { measurements.put($0) }
    }

    /// What can be recorded without asking a store: the age of answers, and what has been counted.
    private func present() -> MetricRecord {
        let ages = freshness.ages(at: time.instant)
        return { [meters, tallies] in
            for (provider, age) in ages { meters?.aged(age, of: provider) }
            tallies?.record()
        }
    }

    /// Passes on what a client's ledgers say; returns `false` if they couldn't be read.
    @discardableResult
    private func measureLedgers(
        of client: ExperimentationClient,
        from baseline: Baseline?,
        pass: (@escaping MetricRecord) -> Void
    ) async -> Bool {
        guard let meters else { return true }
        let owner = client.ledgersOwner
        let (object, store) = meters.stores.find(owner)
        // Waits in this task, so that its cancellation ends the wait for the turn: no task stays in line behind a store
        // that hangs.
        do { try await store.turns.enter() } catch { return false }
        defer { store.turns.leave() }
        guard let ledgers = try? await client.ledgers() else { return false }
        // It can't be told whether these are the ledgers of the old contents or of the new ones.
        guard client.ledgersOwner.key == owner.key else { return false }
        let existing = meters.stores.existing
        pass {
            // The baseline is taken here, because a store that fails and a relay that is full leave it to a later
            // measurement.
            meters.record(ledgers, of: object, in: store, among: existing, isFirst: baseline?.take() ?? false)
        }
        return true
    }

    /// Counts mismatches between two vendors or two answers, as `ExperimentationMigration` reports them.
    ///
    /// - Parameters:
    ///   - kind: The kind of difference, such as `value`; a metric dimension, so keep the number of kinds small.
    ///   - count: The number of new mismatches.
    public func countMismatches(_ kind: String, _ count: Int = 1) {
        tallies?.mismatches.add(kind, count)
    }

    /// Passes on everything that is queued, counts included, and measures the followed clients once more, including
    /// those that have been shut down since.
    ///
    /// - Parameter duration: How long to wait at most for backends that block and stores that don't answer.
    /// - Returns: Whether everything was passed on in time: `false` also if a store couldn't be read, such as one that
    ///   has been closed. What a full queue dropped before is counted, and doesn't make the result `false`.
    @discardableResult
    public func flush(within duration: Duration = .seconds(5)) async -> Bool {
        let deadline = time.instant.advanced(by: duration)
        let isDone = AsyncGate()
        let isLogged = AsyncGate()
        // All at once, because otherwise a store that doesn't answer or a log that blocks would delay the rest.
        measurements.empty(then: present())
        relay.empty { isLogged.open() }
        let measuring = Task {
            let areMeasured = await withTaskGroup { group in
                for (client, baseline) in followed.clients {
                    group.addTask {
                        // Goes past the queue's limit: nothing makes up for what is left out here.
                        await self.measureLedgers(of: client, from: baseline) { self.measurements.empty(then: $0) }
                    }
                }
                return await group.reduce(true) { $0 && $1 }
            }
            await isLogged.wait()
            measurements.empty { [tallies] in
                tallies?.record()
                isDone.open()
            }
            return areMeasured
        }
        let isInTime = await isDone.wait(until: deadline, by: time)
        measuring.cancel()
        guard isInTime else { return false }
        return await measuring.value
    }
}
