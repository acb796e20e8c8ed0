import Foundation

/// Delivers what is owed to one destination: waits, leases, sends, settles.
///
/// One task runs it, from the client's start to its end. ``DeliveryAlarm`` wakes it when its ``DeliverySchedule`` says
/// so, ``DeliveryRound`` decides what it sends next, and ``DeliveryDecision`` what becomes of an event. This actor has
/// only the effects.
actor Deliverer {
    typealias Instant = ContinuousClock.Instant

    /// A batch that is about to be sent or being sent.
    struct Sending {
        var batch: [Envelope]
        var request: Task<DeliveryReport, Never>?
    }

    /// A vendor's answer to a batch, until it is recorded and reported to the client.
    struct Answered {
        var settlements: [Settlement]
        var token: LeaseToken
        /// When the answer came, by the clock of its round.
        var date: Date
        var event: DeliveryEvent?
    }

    nonisolated let destination: Destination
    let sink: any EventSink
    /// Whether the kill switch stops deliveries here; if not, an answer must not set that hold, because nothing lifts
    /// it.
    let heedsKillSwitch: Bool
    let store: any OutboxStore
    let owed: OwedDenials
    let environment: ClientEnvironment
    let clock: CautiousClock
    let events: DeliveryEvents
    let counters: EventCounters
    let policy: BatchPolicy
    let owner = Int64.random(in: 1...Int64.max)

    let alarm: DeliveryAlarm
    var round: DeliveryRound?
    var sending: Sending?
    /// The ids of the batch that got no answer last time.
    var unanswered: [String] = []
    /// The lease that the last round left to the next one, which hasn't begun yet.
    var leftOver: LeaseToken?
    /// The answers that aren't recorded yet, oldest first: at most two, since a round begins with none.
    var unwritten: [Answered] = []
    /// Opens when the current run has ended, or the next one if there is none.
    var runEnded = AsyncGate()
    var isRunning = false
    /// The schedule at the end of the last run.
    var ended: DeliverySchedule

    init(
        to destination: Destination,
        by sink: any EventSink,
        heedsKillSwitch: Bool,
        store: any OutboxStore,
        owed: OwedDenials,
        events: DeliveryEvents,
        counters: EventCounters,
        environment: ClientEnvironment
    ) {
        self.destination = destination
        self.sink = sink
        self.heedsKillSwitch = heedsKillSwitch
        self.store = store
        self.owed = owed
        self.events = events
        self.counters = counters
        self.environment = environment
        policy = sink.batching
        clock = CautiousClock(environment.time)
        alarm = DeliveryAlarm(sink.batching, by: environment.time)
        ended = alarm.schedule
    }

    // MARK: The task

    /// Delivers whenever the schedule says so, until ``close()`` or the task is cancelled.
    func run() async {
        while !Task.isCancelled, !alarm.holds.contains(.closed) {
            guard let rest = alarm.rest() else {
                await deliver()
                continue
            }
            // End the run first: the wake-up of a flush that comes meanwhile belongs to the next run.
            endRun()
            await releaseLeftOver()
            if let end = rest.end {
                await rest.changed.wait(until: end, by: environment.time)
            } else {
                await rest.changed.wait()
            }
        }
        endRun()
        await releaseLeftOver()
    }

    // MARK: Signals from elsewhere

    /// Notes that deliverable events were stored.
    nonisolated func accepted(_ count: Int) { alarm.change { $0.accepted(count, at: $1) } }

    /// Delivers without waiting for a full batch.
    nonisolated func deliverNow() { alarm.change { schedule, _ in schedule.force() } }

    /// Sets or lifts a hold on deliveries.
    nonisolated func set(_ hold: DeliverySchedule.Holds, _ isOn: Bool) {
        alarm.change { schedule, _ in schedule.set(hold, isOn) }
    }

    /// Stops deliveries for good, cancels the current one, and ends the task once its answer is recorded.
    func close() {
        alarm.close()
        round?.end()
        sending?.request?.cancel()
    }

    /// Retries after the vendor refused everything, because the application reports that the cause is gone.
    nonisolated func resumeAfterRefusal() { alarm.change { schedule, _ in schedule.resumeAfterRefusal() } }

    /// Delivers what an earlier run left, if anything.
    ///
    /// If nothing was left, a delivery run would take the first event of the new client before its batch is due.
    func resume() async {
        let left = try? await store.status(of: destination, now: environment.time.now)
        // If the store can't tell, something may be left.
        if left?.deliverable != 0 { deliverNow() }
    }

    /// Interrupts deliveries of users who deny consent; when this returns, no request with their events is under way.
    ///
    /// Other users' events in those requests are sent again, which is better than a request without consent.
    func withdraw(_ users: Set<ExactText>) async {
        guard let sending, sending.batch.contains(where: { $0.isStopped(by: users) }) else {
            if round?.concerns(users) == true { round?.end() }
            return
        }
        await withdrawAll()
    }

    /// Interrupts every delivery under way; events that are still in the store are sent again.
    func withdrawAll() async {
        round?.end()
        let request = sending?.request
        request?.cancel()
        _ = await request?.value
    }
}
