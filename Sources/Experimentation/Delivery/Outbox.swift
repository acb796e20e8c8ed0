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
        /// The events that the vendor has taken or refused for good: nothing more will come of them.
        var settled: [Envelope] = []
        var isDisabled = false
        var stopped: ExperimentationError?
        /// Whether anything was delivered.
        var succeeded = false
    }

    /// An event on its way into the store.
    struct Entry: Sendable {
        var envelope: Envelope
        var isHeld: Bool
        /// Whether the user still agrees, asked again at the last moment.
        var isWanted: @Sendable () -> Bool = { true }

        var userID: String { envelope.identity.id }
    }

    /// A delivery that has begun.
    struct UnderWay {
        var task: Task<DeliveryReport, Never>
        var users: Set<String>
    }

    let store: any OutboxStore
    let sink: (any EventSink)?
    let environment: Environment
    let report: @Sendable (News) -> Void

    var pauses: Set<Pause> = []
    /// Users who have withdrawn their consent, until somebody who has it tracks again.
    var deniedUsers: Set<String> = []
    /// About how many events wait for a delivery.
    var waiting = 0
    /// How many deliveries have failed in a row.
    var failures = 0
    /// When deliveries may go on after an outage.
    var outageEnds: ContinuousClock.Instant?
    /// Until when the vendor asked to be left alone; not even a flush goes before.
    var askedUntil: ContinuousClock.Instant?
    var underWay: UnderWay?
    /// Whether ``underWay`` was cancelled because of a user's consent, not because of the vendor.
    var isInterrupted = false
    /// What the store couldn't write down.
    var unsettled: [Settlement] = []
    /// Batches that got no answer, by their first event: they are sent again as they were, under the same name.
    var unanswered: [String: [Envelope]] = [:]

    private var appending: [String: Int] = [:]
    private var appendWaiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    private var drain: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var timerDeadline: ContinuousClock.Instant?
    private var takingNoted: Task<Void, Never>?
    private let began: (date: Date, instant: ContinuousClock.Instant)

    /// How many noted events wait at most for a store that fails.
    private static let mostNoted = 10_000

    /// Events of callers who can't wait: exposures recorded by a read.
    ///
    /// They come before whatever is accepted later.
    private let intake = Mutex<[Entry]>([])

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
        began = (environment.time.now, environment.time.instant)
    }

    /// The time of day as far as it can be trusted: no later than what has passed since the beginning, so that a clock
    /// that is set ahead doesn't make events old.
    var cautiousNow: Date {
        let passed = began.instant.duration(to: environment.time.instant).seconds
        return min(environment.time.now, began.date + passed)
    }

    // MARK: Taking

    /// Accepts an event: when this returns, the store has it.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - isHeld: Whether it waits for consent.
    ///   - isWanted: Whether the user still agrees; asked before the event is stored, and after.
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store throws.
    func accept(
        _ envelope: Envelope,
        isHeld: Bool,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws(ExperimentationError) {
        if pauses.contains(.closed) { throw ExperimentationError(.shutDown, "The client has been shut down.") }
        await takeInNoted()
        let entry = Entry(envelope: envelope, isHeld: isHeld, isWanted: isWanted)
        guard try await put([entry], isHeld: isHeld) == 1 else {
            throw ExperimentationError(.consentDenied, "The user has denied consent; the event was not accepted.")
        }
        deliverWhenDue()
    }

    /// Notes an event that will be accepted in a moment; never waits.
    nonisolated func note(
        _ envelope: Envelope,
        isHeld: Bool,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) {
        intake.withLock { $0.append(Entry(envelope: envelope, isHeld: isHeld, isWanted: isWanted)) }
        Task { await self.takeInNoted() }
    }

    /// Moves noted events into the store, one mover at a time so that they stay in order.
    private func takeInNoted() async {
        while let taking = takingNoted { await taking.value }
        guard intake.withLock({ !$0.isEmpty }) else { return }
        let task = Task { await self.moveNoted() }
        takingNoted = task
        await task.value
    }

    private func moveNoted() async {
        defer { takingNoted = nil }
        let entries = intake.withLock { noted in
            defer { noted = [] }
            return noted
        }
        var rest = entries[...]
        var most = Int.max
        while let isHeld = rest.first?.isHeld {
            let run = Array(rest.prefix { $0.isHeld == isHeld }.prefix(most))
            do {
                _ = try await put(run, isHeld: isHeld)
                rest = rest.dropFirst(run.count)
            } catch  where error.code == .store {
                // The store may recover; the next caller tries again.
                let kept = Array(rest)
                intake.withLock { $0 = Array((kept + $0).prefix(Self.mostNoted)) }
                environment.log.log(.error, "outbox.refused", "Exposures can't be stored at the moment: \(error)")
                return
            } catch  where run.count > 1 {
                // One of them is to blame; the others need not go with it.
                most = 1
            } catch {
                environment.log.log(.error, "outbox.refused", "A noted event can't be stored: \(error)")
                rest = rest.dropFirst(run.count)
            }
        }
        deliverWhenDue()
    }

    /// Stores events whose users still agree.
    ///
    /// - Returns: How many were stored and are still wanted.
    private func put(_ entries: [Entry], isHeld: Bool) async throws(ExperimentationError) -> Int {
        let wanted = entries.filter { $0.isWanted() }
        guard !wanted.isEmpty else { return 0 }
        for entry in wanted {
            deniedUsers.remove(entry.userID)
            appending[entry.userID, default: 0] += 1
        }
        defer { for entry in wanted { appended(entry.userID) } }
        try await store.append(wanted.map(\.envelope), isHeld: isHeld)
        let unwanted = wanted.filter { !$0.isWanted() }
        for userID in Set(unwanted.map(\.userID)) { _ = try await store.purge(userID: userID) }
        if !isHeld { waiting += wanted.count - unwanted.count }
        return wanted.count - unwanted.count
    }

    private func appended(_ userID: String) {
        let left = appending[userID, default: 1] - 1
        appending[userID] = left > 0 ? left : nil
        guard left <= 0 else { return }
        for waiter in appendWaiters.removeValue(forKey: userID) ?? [] { waiter.resume() }
    }

    private func waitForAppends(of userID: String) async {
        while appending[userID] != nil {
            await withCheckedContinuation { appendWaiters[userID, default: []].append($0) }
        }
    }

    // MARK: When to deliver

    var policy: BatchPolicy { sink?.batching ?? BatchPolicy() }

    /// Starts a delivery if enough waits, or sets the timer for when the oldest has waited long enough.
    private func deliverWhenDue() {
        guard sink != nil, pauses.isEmpty, waiting > 0, drain == nil else { return }
        let now = environment.time.instant
        if let outageEnds, outageEnds > now {
            setTimer(outageEnds)
        } else if waiting >= policy.count {
            startDrain()
        } else {
            setTimer(now.advanced(by: policy.interval))
        }
    }

    /// Sees to it that a delivery begins at a moment, if none does before.
    func setTimer(_ deadline: ContinuousClock.Instant) {
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
        if let outageEnds, outageEnds > environment.time.instant { return setTimer(outageEnds) }
        startDrain()
    }

    @discardableResult
    private func startDrain() -> Task<Void, Never> {
        if let drain { return drain }
        timer?.cancel()
        timer = nil
        timerDeadline = nil
        let task = Task {
            let next = await self.deliverAll()
            self.drainEnded(next)
        }
        drain = task
        return task
    }

    private func drainEnded(_ next: ContinuousClock.Instant?) {
        drain = nil
        guard pauses.isEmpty else { return }
        if let next { setTimer(next) }
        deliverWhenDue()
    }

    // MARK: What the client says

    /// Delivers what can be delivered, and waits for that until the deadline.
    ///
    /// - Returns: Whether nothing is left that could have been delivered.
    func flush(by deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> Bool {
        await takeInNoted()
        guard sink != nil, pauses.isEmpty else { return try await isEmpty() }
        if let earlier = drain {
            // It may have looked into the store before the last events were there.
            await Self.wait(for: earlier, until: deadline, by: environment.time)
            let isOver = environment.time.instant >= deadline
            if isOver || failures > 0 || !pauses.isEmpty { return try await isEmpty() }
        }
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
            outageEnds = nil
            waiting = max(waiting, 1)
            startDrain()
        }
    }

    /// Delivers what an earlier run left.
    ///
    /// Only if anything is left: a drain for nothing would take the first event of this run before its batch is due.
    func resume() async {
        guard pauses.isEmpty, sink != nil else { return }
        if let left = try? await store.status(now: environment.time.now), left.ready + left.delayed + left.leased == 0 {
            return
        }
        startDrain()
    }

    /// Lets a user's held events go.
    func release(userID: String) async throws(ExperimentationError) {
        deniedUsers.remove(userID)
        await takeInNoted()
        // What is on its way into the store was to be held when it set out.
        await waitForAppends(of: userID)
        try await store.release(userID: userID)
        waiting = max(waiting, 1)
        deliverWhenDue()
    }

    /// Removes a user's waiting events; when this returns, nothing of theirs is under way, and nothing will be sent but
    /// the consent signal.
    ///
    /// - Returns: How many events were removed.
    @discardableResult
    func purge(userID: String) async throws(ExperimentationError) -> Int {
        deniedUsers.insert(userID)
        intake.withLock { $0.removeAll { $0.userID == userID && !$0.envelope.event.isConsentSignal } }
        while let taking = takingNoted { await taking.value }
        await waitForAppends(of: userID)
        while let underWay, underWay.users.contains(userID) {
            // Others' events in it are tried again; that costs less than a request that nobody agreed to.
            isInterrupted = true
            underWay.task.cancel()
            _ = await underWay.task.value
            await Task.yield()
        }
        return try await store.purge(userID: userID)
    }

    /// Removes the waiting events of all users, who go on as before.
    ///
    /// - Returns: How many events were removed.
    func purgeAll() async throws(ExperimentationError) -> Int {
        await takeInNoted()
        var users: Set<String> = []
        var last: Int64 = 0
        while let end = try await collectUsers(after: last, into: &users) { last = end }
        var purged = 0
        for userID in users {
            let isDenied = deniedUsers.contains(userID)
            purged += try await purge(userID: userID)
            if !isDenied { deniedUsers.remove(userID) }
        }
        return purged
    }

    private func collectUsers(
        after sequence: Int64,
        into users: inout Set<String>
    ) async throws(ExperimentationError) -> Int64? {
        let page = try await store.waiting(after: sequence, limit: 1_000)
        users.formUnion(page.map(\.envelope.identity.id))
        return page.last?.envelope.sequence
    }

    /// The events that wait, with everything noted taken in first.
    func waitingEvents(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        await takeInNoted()
        return try await store.waiting(after: sequence, limit: limit)
    }

    /// Ends delivery; what waits stays in the store.
    func close() async {
        pauses.insert(.closed)
        timer?.cancel()
        timer = nil
        drain?.cancel()
    }

    /// The accounts, with everything noted taken in first.
    func ledger() async throws(ExperimentationError) -> Ledger {
        await takeInNoted()
        return try await store.ledger()
    }

    /// What waits, with everything noted taken in first.
    func status() async throws(ExperimentationError) -> OutboxStatus {
        await takeInNoted()
        return try await store.status(now: environment.time.now)
    }
}

extension TrackingEvent {
    /// Whether this is the consent signal itself, the one thing that may be sent without consent.
    var isConsentSignal: Bool {
        if case .consentChanged = kind { true } else { false }
    }
}
