import Foundation

/// Takes events, keeps them, and has them delivered: in order per user, at least once, to each destination by itself.
///
/// What is accepted goes through one ``Intake`` into the store, and out of it by one ``Deliverer`` for each destination.
/// Whatever stops a delivery (no network, the kill switch, wrong settings) stops only that: events are still taken.
final class Outbox: Sendable {
    /// How long the store may take at the least to say whether it is empty, also where the deadline has come.
    static let leastForStatus: Duration = .milliseconds(500)

    let store: any OutboxStore
    let kept: KeptState
    let routes: [EventRoute]
    /// Whether the first route was asked about an event before it comes here.
    private let isFirstAsked: Bool
    let deliverers: [Deliverer]
    let tasks: [Task<Void, Never>]
    let intake: Intake
    let owed: OwedDenials
    let counters: EventCounters
    let environment: ClientEnvironment

    /// Creates an outbox that delivers nothing before ``resume()``.
    ///
    /// - Parameters:
    ///   - store: Where events are kept.
    ///   - kept: Where it is noted what a failing store owes.
    ///   - routes: Where events go, the one that decides whether an event is taken first; each destination once.
    ///   - isFirstAsked: Whether there is one that decides; otherwise each is asked for itself.
    ///   - environment: Time, chance, names and messages.
    ///   - events: Told of what deliveries bring.
    ///   - accepted: Called whenever events have been accepted; quick.
    init(
        store: any OutboxStore,
        kept: KeptState,
        routes: [EventRoute],
        isFirstAsked: Bool = true,
        environment: ClientEnvironment,
        events: DeliveryEvents,
        accepted: @escaping @Sendable () -> Void = {}
    ) {
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let counters = EventCounters()
        let deliverers = routes.map { route in
            Deliverer(
                to: route.destination,
                by: route.sink,
                store: store,
                owed: owed,
                events: events,
                counters: counters,
                environment: environment
            )
        }
        self.store = store
        self.kept = kept
        self.routes = routes
        self.isFirstAsked = isFirstAsked
        self.owed = owed
        self.environment = environment
        self.deliverers = deliverers
        self.counters = counters
        intake = Intake(store: store, owed: owed, environment: environment) { events in
            accepted()
            counters.accepted(events)
            for deliverer in deliverers {
                // Without events, held ones were released: where, only the store knows.
                let count = events.isEmpty ? 1 : events.count { $0.isDeliverable(to: deliverer.destination) }
                if count > 0 { await deliverer.accepted(count) }
            }
        }
        tasks = deliverers.map { deliverer in Task { await deliverer.run() } }
    }

    deinit { for task in tasks { task.cancel() } }

    // MARK: What is said

    /// Takes an event's place in the line, without waiting; the caller then waits for ``outcome(of:)``.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - consent: What its user says of being tracked; unknown consent holds it back where it is needed.
    ///   - isStated: Whether they say it with this event, as a user without a session does.
    /// - Returns: The place.
    func enter(_ envelope: Envelope, consent: Consent, isStated: Bool = false) -> Intake.Ticket {
        var event = event(envelope, consent)
        event.grantsConsent = isStated && consent == .granted
        return intake.enter(.event(event))
    }

    /// Takes the place of an event for a caller who can't wait.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - consent: What its user says of being tracked.
    ///   - isStated: Whether they say it with this event, as a user without a session does.
    func note(_ envelope: Envelope, consent: Consent, isStated: Bool = false) {
        var event = event(envelope, consent)
        event.grantsConsent = isStated && consent == .granted
        intake.note(.event(event))
    }

    /// Takes a change of consent's place in the line; the caller then waits for ``outcome(of:)`` or ``deny(_:_:)``.
    func enter(_ change: ConsentChange) -> Intake.Ticket { intake.enter(.consent(change)) }

    /// Takes the place of a change of consent for a caller who can't wait.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - failed: Called if the store couldn't be told.
    func note(_ change: ConsentChange, failed: @escaping @Sendable (ExperimentationError) -> Void) {
        intake.note(.consent(change)) { [weak self] outcome in
            switch outcome {
            case .failure(let error): failed(error)
            case .success where change.isGranted: break
            case .success:
                Task {
                    await self?.withdraw(change.userID)
                    try? await self?.kept.forget(userID: change.userID)
                }
            }
        }
    }

    /// Waits until the store has what was said.
    ///
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store throws.
    func outcome(of ticket: Intake.Ticket) async throws(ExperimentationError) { try await intake.outcome(of: ticket) }

    /// Waits until a user's denial is carried out: what waits of theirs is removed, what is kept of them is forgotten, and
    /// no request is under way that has an event of theirs but the consent signal.
    ///
    /// - Parameters:
    ///   - ticket: The denial's place.
    ///   - userID: Whose it is.
    ///   - isWanted: Whether that is still so, asked before it is noted as owed.
    /// - Throws: What the stores throw: then nothing of the user is sent or accepted, and it is tried again.
    func deny(
        _ ticket: Intake.Ticket,
        _ userID: String,
        isWanted: @Sendable () -> Bool
    ) async throws(ExperimentationError) {
        var failure: ExperimentationError?
        do throws(ExperimentationError) { try await intake.outcome(of: ticket) } catch { failure = error }
        await withdraw(userID)
        do throws(ExperimentationError) {
            try await kept.forget(userID: userID)
        } catch {
            if isWanted() { await owed.owe(userID) }
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// Waits until no request goes on that has an event of a user who denies consent, but for the consent signal.
    func withdraw(_ userID: String) async {
        for deliverer in deliverers { await deliverer.withdraw([ExactText(userID)]) }
    }

    /// Waits until everything that was said before is in the store, or was refused by it.
    func untilStored() async throws(ExperimentationError) { try await intake.untilStored() }

    /// Waits until everything that was said before is in the store, or couldn't be stored.
    func drain() async { await intake.drain() }

    func event(_ envelope: Envelope, _ consent: Consent) -> NewEvent {
        let mayBeHeld = consent == .unknown && !envelope.event.isConsentSignal
        let taking = routes.enumerated().filter { index, route in
            (isFirstAsked && index == 0) || (try? route.sink.check(envelope.event)) != nil
        }
        return NewEvent(
            envelope,
            owedTo: taking.map { .init(to: $1.destination, isHeld: mayBeHeld && $1.needsConsent) }
        )
    }

    // MARK: Delivering

    /// Forbids deliveries for a reason, or takes it back.
    func set(_ hold: DeliverySchedule.Hold, _ isOn: Bool) async {
        for (route, deliverer) in zip(routes, deliverers) where hold != .disabled || route.heedsKillSwitch {
            await deliverer.set(hold, isOn)
        }
    }

    /// Tries again after a refusal of everything: the application says that the reason is gone.
    func resumeAfterRefusal() async { for deliverer in deliverers { await deliverer.resumeAfterRefusal() } }

    /// Carries out and delivers what an earlier run left.
    func resume() async {
        await owed.restore()
        for deliverer in deliverers { await deliverer.resume() }
    }

    /// Delivers what can be delivered, and waits for that until the deadline.
    ///
    /// - Parameters:
    ///   - deadline: When it ends, whatever is under way.
    ///   - isPatient: Whether what may be tried again before the deadline is waited for; otherwise everything is tried
    ///     once.
    /// - Returns: What is left.
    /// - Throws: ``ErrorCode/store``.
    func flush(by deadline: ContinuousClock.Instant, isPatient: Bool) async throws(ExperimentationError) -> FlushResult
    {
        let time = environment.time
        let isStored = AsyncGate()
        Task { [intake] in
            await intake.drain()
            isStored.open()
        }
        guard await isStored.wait(until: deadline, by: time) else { return .unknown }
        await withTaskGroup { group in
            for deliverer in deliverers {
                group.addTask { await deliverer.flush(by: deadline, isPatient: isPatient) }
            }
        }
        return try await remains(by: max(deadline, time.instant.advanced(by: Self.leastForStatus)))
    }

    /// What is left; unknown, if the store doesn't answer in time.
    func remains(by deadline: ContinuousClock.Instant) async throws(ExperimentationError) -> FlushResult {
        let isAnswered = AsyncGate()
        let question = Task { () -> Result<FlushResult, ExperimentationError> in
            defer { isAnswered.open() }
            do throws(ExperimentationError) {
                return .success(FlushResult(try await self.status()))
            } catch {
                return .failure(error)
            }
        }
        guard await isAnswered.wait(until: deadline, by: environment.time) else { return .unknown }
        return try await question.value.get()
    }

    /// Ends deliveries, has erased what was removed, and waits for that until the deadline; what waits stays in the store.
    func close(by deadline: ContinuousClock.Instant) async {
        intake.close()
        for deliverer in deliverers { await deliverer.close() }
        for task in tasks { task.cancel() }
        let isOver = AsyncGate()
        let ending = Task { [tasks, store] in
            for task in tasks { await task.value }
            try? await store.finishErasing()
            isOver.open()
        }
        await isOver.wait(until: deadline, by: environment.time)
        ending.cancel()
    }
}

extension NewEvent {
    /// Whether the event may be sent to a destination as soon as it is stored.
    fileprivate func isDeliverable(to destination: Destination) -> Bool {
        deliveries.contains { !$0.isHeld && $0.destination == destination }
    }
}
