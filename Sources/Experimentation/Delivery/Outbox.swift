import Foundation
import Synchronization

/// Takes events, keeps them, and delivers them: in order per user, at least once, within its policy.
///
/// One batch is under way at a time. Whatever stops delivery (no network, the kill switch, wrong settings) stops only
/// that: events are still taken.
actor Outbox {
    /// Why nothing is delivered at the moment.
    enum Pause: Hashable { case offline, disabled, stopped, closed }

    /// What a delivery brought back, for the client to act on.
    struct News: Sendable {
        var campaigns: [(envelope: Envelope, campaign: Campaign)] = []
        var isDisabled = false
        var stopped: ExperimentationError?
        /// Whether anything was delivered.
        var succeeded = false
    }

    private let store: any OutboxStore
    private let sink: (any EventSink)?
    private let environment: Environment
    private let report: @Sendable (News) -> Void

    private var pauses: Set<Pause> = []
    private var deniedUsers: Set<String> = []
    private var waiting = 0
    private var failures = 0
    private var notBefore: ContinuousClock.Instant?
    private var drain: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var timerDeadline: ContinuousClock.Instant?

    /// Events of callers who can't wait: exposures recorded by a read. They come before whatever is accepted later.
    private let intake = Mutex<[(envelope: Envelope, isHeld: Bool)]>([])

    init(
        store: any OutboxStore,
        sink: (any EventSink)?,
        environment: Environment,
        report: @escaping @Sendable (News) -> Void
    ) {
        self.store = store
        self.sink = sink
        self.environment = environment
        self.report = report
    }

    // MARK: Taking

    /// Accepts an event: when this returns, the store has it.
    func accept(_ envelope: Envelope, isHeld: Bool) async throws(ExperimentationError) {
        if pauses.contains(.closed) { throw ExperimentationError(.shutDown, "The client has been shut down.") }
        try await takeIn(and: (envelope, isHeld))
    }

    /// Notes an event that will be accepted in a moment; never waits.
    nonisolated func note(_ envelope: Envelope, isHeld: Bool) {
        intake.withLock { $0.append((envelope, isHeld)) }
        Task { await self.takeInNoted() }
    }

    private func takeInNoted() async {
        do {
            try await takeIn(and: nil)
        } catch {
            environment.log.log(.error, "outbox.refused", "An exposure could not be stored: \(error)")
        }
    }

    /// Moves noted events, then one more, into the store, in this order.
    private func takeIn(and last: (envelope: Envelope, isHeld: Bool)?) async throws(ExperimentationError) {
        var entries = intake.withLock { noted in
            defer { noted = [] }
            return noted
        }
        entries.removeAll { deniedUsers.contains($0.envelope.identity.id) }
        if let last { entries.append(last) }
        var index = 0
        while index < entries.count {
            let isHeld = entries[index].isHeld
            let run = entries[index...].prefix { $0.isHeld == isHeld }.map(\.envelope)
            try await store.append(run, isHeld: isHeld)
            if !isHeld { waiting += run.count }
            index += run.count
        }
        if !entries.isEmpty { deliverWhenDue() }
    }

    // MARK: Delivering

    private var policy: BatchPolicy { sink?.batching ?? BatchPolicy() }

    /// Starts a delivery if enough waits, or sets the timer for when the oldest has waited long enough.
    private func deliverWhenDue() {
        guard sink != nil, pauses.isEmpty, waiting > 0, drain == nil else { return }
        if waiting >= policy.count, (notBefore ?? environment.time.instant) <= environment.time.instant {
            startDrain()
        } else {
            setTimer(notBefore ?? environment.time.instant.advanced(by: policy.interval))
        }
    }

    private func setTimer(_ deadline: ContinuousClock.Instant) {
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        timer = Task { [environment] in
            do { try await environment.time.sleep(until: deadline) } catch { return }
            self.timerFired(deadline)
        }
    }

    private func timerFired(_ deadline: ContinuousClock.Instant) {
        guard timerDeadline == deadline else { return }
        timer = nil
        timerDeadline = nil
        guard pauses.isEmpty, drain == nil else { return }
        startDrain()
    }

    @discardableResult
    private func startDrain() -> Task<Void, Never> {
        if let drain { return drain }
        timer?.cancel()
        timer = nil
        timerDeadline = nil
        let task = Task {
            await self.deliverAll()
            self.drainEnded()
        }
        drain = task
        return task
    }

    private func drainEnded() {
        drain = nil
        guard pauses.isEmpty else { return }
        if let notBefore { setTimer(notBefore) } else { deliverWhenDue() }
    }

    /// Delivers batch after batch until nothing is left that may be tried now.
    private func deliverAll() async {
        notBefore = nil
        waiting = 0
        do {
            while pauses.isEmpty, !Task.isCancelled, let sink {
                let now = environment.time.now
                if let age = policy.maximumAge { _ = try await store.expire(before: now - age.seconds) }
                let batch = try await store.lease(
                    max(policy.largest, 1),
                    bytes: policy.bytes,
                    now: now,
                    // Longer than any delivery: a lease that outlives its process is given back after this.
                    until: now + 120
                )
                if batch.isEmpty {
                    try await scheduleDelayed(now: now)
                    return
                }
                guard try await deliver(named(batch), to: sink) else { return }
            }
        } catch {
            environment.log.log(.error, "outbox.store", "Delivery stopped: \(error)")
        }
    }

    private func scheduleDelayed(now: Date) async throws(ExperimentationError) {
        guard let next = try await store.status(now: now).nextAttempt else { return }
        let wait = max(next.timeIntervalSince(now), 0.001)
        notBefore = environment.time.instant.advanced(by: .seconds(min(wait, 3_600)))
    }

    /// Gives the events of a new batch its name; those of an earlier one keep theirs.
    private func named(_ batch: [Envelope]) -> [Envelope] {
        let name = environment.makeID()
        return batch.map { envelope in
            var envelope = envelope
            envelope.batch = envelope.batch ?? name
            return envelope
        }
    }

    /// Delivers one batch, in halves if need be.
    ///
    /// - Returns: Whether to go on with the next batch.
    private func deliver(_ batch: [Envelope], to sink: any EventSink) async throws(ExperimentationError) -> Bool {
        let allowed = batch.filter { !deniedUsers.contains($0.identity.id) || $0.event.isConsentSignal }
        guard !allowed.isEmpty else { return true }
        let report = await sink.deliver(allowed)
        let now = environment.time.now
        let isWhole = DeliveryDecision.isRefusedAsAWhole(allowed, report.verdicts)

        var settlements: [Settlement] = []
        var again: [Envelope] = []
        for envelope in allowed {
            let decision = DeliveryDecision.about(
                envelope,
                verdict: isWhole ? .split("refused with others") : report.verdicts[envelope.id],
                isAlone: allowed.count == 1,
                policy: policy,
                now: now,
                jitter: environment.jitter()
            )
            switch decision {
            case .settle(let settlement): settlements.append(settlement)
            case .splitWithOthers: again.append(envelope)
            }
        }
        try await store.settle(settlements)
        let goesOn = takeNote(of: report, batch: allowed)
        guard !again.isEmpty else { return goesOn }
        guard goesOn else {
            try await store.settle(again.map { .retry(id: $0.id, at: now, attempts: $0.attempts, reason: "outage") })
            return false
        }
        let middle = (again.count + 1) / 2
        let first = try await deliver(Array(again[..<middle]), to: sink)
        guard middle < again.count else { return first }
        guard first else {
            let rest = again[middle...].map {
                Settlement.retry(id: $0.id, at: now, attempts: $0.attempts, reason: "outage")
            }
            try await store.settle(rest)
            return false
        }
        return try await deliver(Array(again[middle...]), to: sink)
    }

    /// Learns from a report: how long to pause, what to tell the client.
    ///
    /// - Returns: Whether to go on.
    private func takeNote(of report: DeliveryReport, batch: [Envelope]) -> Bool {
        var news = News(isDisabled: report.isDisabled)
        let byID = Dictionary(batch.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        news.campaigns = report.campaigns.compactMap { received in
            byID[received.eventID].map { ($0, received.campaign) }
        }
        var isOutage = false
        var asked: Duration?
        for envelope in batch {
            switch report.verdicts[envelope.id] {
            case nil: isOutage = true
            case .outage(let after):
                isOutage = true
                if let after { asked = max(asked ?? .zero, RetrySchedule.clamped(after)) }
            case .stop(let error): news.stopped = error
            case .delivered: news.succeeded = true
            default: break
            }
        }
        if report.isDisabled { pauses.insert(.disabled) }
        if news.stopped != nil { pauses.insert(.stopped) }
        if isOutage {
            failures += 1
            let wait = asked ?? RetrySchedule.wait(beforeAttempt: failures, jitter: environment.jitter())
            notBefore = environment.time.instant.advanced(by: wait)
            waiting += 1
        } else {
            failures = 0
        }
        if news.isDisabled || news.stopped != nil || news.succeeded || !news.campaigns.isEmpty { self.report(news) }
        return !isOutage && pauses.isEmpty
    }

    // MARK: What the client says

    /// Delivers what can be delivered, and waits for that until the deadline.
    ///
    /// - Returns: Whether nothing is left that could have been delivered.
    func flush(by deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> Bool {
        try await takeIn(and: nil)
        guard sink != nil, pauses.isEmpty else { return try await isEmpty() }
        let drain = startDrain()
        await Self.wait(for: drain, until: deadline, by: environment.time)
        return try await isEmpty()
    }

    private func isEmpty() async throws(ExperimentationError) -> Bool {
        let status = try await store.status(now: environment.time.now)
        return status.ready + status.leased + status.delayed == 0
    }

    /// Waits for a task, but not beyond the deadline; the task goes on.
    private static func wait(
        for task: Task<Void, Never>,
        until deadline: ContinuousClock.Instant,
        by time: any TimeSource
    ) async {
        let gate = OneShot()
        let watcher = Task {
            await task.value
            gate.open()
        }
        let alarm = Task {
            try? await time.sleep(until: deadline)
            gate.open()
        }
        await gate.wait()
        alarm.cancel()
        watcher.cancel()
    }

    /// Stops or lets go of delivery for one reason.
    func setPause(_ pause: Pause, _ isOn: Bool) {
        if isOn {
            pauses.insert(pause)
        } else if pauses.remove(pause) != nil, pauses.isEmpty {
            failures = 0
            notBefore = nil
            waiting = max(waiting, 1)
            startDrain()
        }
    }

    /// Delivers what an earlier run left.
    func resume() { if pauses.isEmpty, sink != nil { startDrain() } }

    /// Lets a user's held events go.
    func release(userID: String) async throws(ExperimentationError) {
        deniedUsers.remove(userID)
        try await takeIn(and: nil)
        try await store.release(userID: userID)
        waiting = max(waiting, 1)
        deliverWhenDue()
    }

    /// Removes a user's waiting events; from now on nothing of theirs is sent but the consent signal.
    func purge(userID: String) async throws(ExperimentationError) {
        deniedUsers.insert(userID)
        try await takeIn(and: nil)
        _ = try await store.purge(userID: userID)
    }

    /// Lets events of a user flow again who was never purged.
    func allow(userID: String) { deniedUsers.remove(userID) }

    /// Ends delivery; what waits stays in the store.
    func close() async {
        pauses.insert(.closed)
        timer?.cancel()
        timer = nil
        drain?.cancel()
    }

    /// The accounts, with everything noted taken in first.
    func ledger() async throws(ExperimentationError) -> Ledger {
        try await takeIn(and: nil)
        return try await store.ledger()
    }

    /// What waits, with everything noted taken in first.
    func status() async throws(ExperimentationError) -> OutboxStatus {
        try await takeIn(and: nil)
        return try await store.status(now: environment.time.now)
    }
}

extension TrackingEvent {
    /// Whether this is the consent signal itself, the one thing that may be sent without consent.
    var isConsentSignal: Bool {
        if case .consentChanged = kind { true } else { false }
    }
}
