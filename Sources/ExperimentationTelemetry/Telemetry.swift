public import CoreMetrics
public import Experimentation
public import Logging
public import Tracing

/// What an application wants to know of its flags, by the names that everybody uses: events, metrics and spans.
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
/// Nothing of it is on the way of a read: events are noted and said by a thread of their own, so that whoever takes them may
/// block or fail, and counts are kept in memory until ``follow(_:)`` or ``flush(within:)`` passes them on.
public final class Telemetry: Sendable {
    /// The name of an exposure's event.
    public static let exposureEvent = "experimentation.exposure"

    private let logger: Logger?
    private let tracer: (any Tracer)?
    private let meters: Meters?
    private let options: TelemetryOptions
    private let time: any TimeSource
    private let relay: Relay<TelemetryItem>
    private let tally: EvaluationTally?
    private let freshness = LastRefreshes()

    /// Creates telemetry; what isn't named isn't made.
    ///
    /// - Parameters:
    ///   - logger: Where events go.
    ///   - metrics: Who makes counters, recorders and timers.
    ///   - tracer: Who makes spans.
    ///   - options: What is told, how much of it, and of whom.
    ///   - time: Time, for durations and ages.
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
        tally = metrics.map { _ in EvaluationTally(limit: options.seriesLimit) }
        let writer = EventWriter(logger: logger, meters: meters, options: options)
        relay = Relay(limit: options.waitingLimit) { writer.write($0, dropped: $1) }
    }

    // MARK: Where it is put

    /// The hooks: an event for each evaluation if there is a logger, counts if there are metrics.
    public var hooks: [any Hook] {
        var hooks: [any Hook] = []
        if let logger { hooks.append(EvaluationEvents(logger: logger, level: options.evaluationLevel, relay: relay)) }
        if let tally { hooks.append(EvaluationCounts(tally: tally)) }
        return hooks
    }

    /// What goes around refreshes, deliveries and requests; `nil` without tracer and metrics.
    public var operations: (any OperationObserver)? {
        guard tracer != nil || meters != nil else { return nil }
        return OperationSpans(
            tracer: tracer,
            meters: meters,
            relay: relay,
            freshness: freshness,
            propagation: options.propagation,
            time: time
        )
    }

    /// Options with the hooks, and with who hears of exposures.
    public func added(to options: ClientOptions) -> ClientOptions {
        var options = options
        options.hooks += hooks
        if logger != nil || meters != nil { options.exposureObservers.append(ExposureEvents(relay: relay)) }
        return options
    }

    /// An environment with what goes around operations and, if it has no log, with the library's own messages in the logger.
    public func added(to environment: ClientEnvironment) -> ClientEnvironment {
        var environment = environment
        environment.operations = operations ?? environment.operations
        if let logger, environment.log is NoLog { environment.log = LoggerSink(logger) }
        return environment
    }

    // MARK: Measuring

    /// Measures a client until the task is cancelled: what was evaluated, what waits for each destination, how old answers are.
    ///
    /// What happened before it is called isn't counted, but for evaluations.
    public func follow(_ client: ExperimentationClient) async {
        await measure(client, isFirst: true)
        while !Task.isCancelled {
            do { try await time.sleep(for: options.interval) } catch { break }
            await measure(client)
        }
    }

    /// Measures a client once.
    ///
    /// - Parameter client: The client. Its destinations' accounts are counted from nothing unless they were seen before.
    public func measure(_ client: ExperimentationClient) async { await measure(client, isFirst: false) }

    private func measure(_ client: ExperimentationClient, isFirst: Bool) async {
        guard let meters else { return }
        let ledgers = (try? await client.ledgers()) ?? [:]
        let ages = freshness.ages(at: time.instant)
        let tally = tally
        relay.put(
            .measure {
                meters.record(ledgers, isFirst: isFirst)
                for (provider, age) in ages { meters.aged(age, of: provider) }
                if let growth = tally?.take() { meters.record(growth) }
            }
        )
    }

    /// Counts that two vendors, or two answers, differ: for what `ExperimentationMigration` reports.
    ///
    /// - Parameters:
    ///   - kind: In what they differ, such as `value`; one of few.
    ///   - count: How many more there are.
    public func countMismatches(_ kind: String, _ count: Int = 1) {
        guard let meters else { return }
        relay.put(.measure { meters.mismatched(kind, count) })
    }

    /// Passes on everything that waits, the counts included.
    ///
    /// - Parameter duration: How long to wait at most, for whoever takes it may block.
    /// - Returns: Whether everything was taken in time.
    @discardableResult
    public func flush(within duration: Duration = .seconds(5)) async -> Bool {
        let isDone = AsyncGate()
        let tally = tally
        let meters = meters
        relay.empty {
            if let meters, let growth = tally?.take() { meters.record(growth) }
            isDone.open()
        }
        return await isDone.wait(until: time.instant.advanced(by: duration), by: time)
    }
}
